import { ObjectStoreError, transientKinds } from "../../object-store/object-store-error.ts";
import { Fault } from "../../lib/fault.ts";
import type { Content } from "../results/command-result.ts";
import { openPublishTarget, type PublishTargetOptions, type Uploads } from "./uploads.ts";
import { type PublishedCommand, RESULT_NAME } from "../output/command-text.ts";

/** The URI of a result in the account's storage, once all of it is uploaded. Throws a 503 until then. */
export type LocateResult = (command: PublishedCommand, result: Content) => Promise<string>;

/** Clients wait about a minute. The upload goes on, and the next call waits for it again. */
const PATIENCE_MS = 30_000;
const RETRY_AFTER_SECONDS = 10;

/** Uploads the result now if it is not published yet, without waiting for the publisher. */
export function resultLocator(targets: PublishTargetOptions, uploads: Uploads): LocateResult {
  const publish: LocateResult = async (command, result) => {
    try {
      const target = await openPublishTarget(targets, command.accountId);
      try {
        const uri = target.uriOf(command, RESULT_NAME);
        await uploads.put(command.accountId, target.store, uri, result);
        await target.noteAccepted();
        return uri;
      } finally {
        await target.store.close();
      }
    } catch (error) {
      if (error instanceof Error && error.name === "AbortError") throw beingUploaded();
      if (!(error instanceof ObjectStoreError)) throw error;
      throw transientKinds.has(error.kind) ? beingUploaded(error) : unpublishable(error.message);
    }
  };
  return async (command, result) => {
    const patience = Promise.withResolvers<never>();
    const timer = setTimeout(() => patience.reject(beingUploaded()), PATIENCE_MS);
    try {
      return await Promise.race([publish(command, result), patience.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
}

function unpublishable(reason: string): Fault {
  return new Fault(
    "invalid",
    `The result cannot be put into the account's storage: ${reason}. format=raw gives all of it.`,
  );
}

function beingUploaded(cause?: unknown): Fault {
  const why = cause instanceof ObjectStoreError ? ` (${cause.message})` : "";
  return new Fault("unavailable", `The result is being uploaded to the account's storage${why}; try again.`, {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
