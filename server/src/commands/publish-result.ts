import { Readable } from "node:stream";
import { ObjectStoreError } from "../engines/object-store/object-store-error.ts";
import { parseObjectUri } from "../engines/object-store/object-uri.ts";
import { Fault } from "../lib/fault.ts";
import { readText, type CommandText } from "./command-text.ts";
import { PASSING, type AccountStorage, type OpenStorage } from "./read-script.ts";
import type { CommandOutcome } from "./store/outcome.ts";

/** Puts results that are too large for a reply into the account's storage. */
export interface ResultPublisher {
  /** The URI, once the whole result is there; 503 while it is on its way. */
  locate(command: CommandOutcome, result: CommandText): Promise<string>;
  stop(): void;
}

/** Clients wait about a minute; the next call goes on waiting. */
const PATIENCE_MS = 30_000;
const RETRY_AFTER_SECONDS = 10;
/** Each holds a few parts in memory. */
const AT_ONCE = 4;

/** By the object itself, not by a note about it: one of the right size has come there whole. */
export function resultPublisher(storage: AccountStorage): ResultPublisher {
  const underWay = new Map<number, Promise<string>>();
  const stopping = new AbortController();
  const begin = (command: CommandOutcome, result: CommandText): Promise<string> => {
    if (underWay.size >= AT_ONCE) throw onItsWay();
    const publishing = publish(storage, command, result, stopping.signal).finally(() => underWay.delete(command.id));
    underWay.set(command.id, publishing);
    return publishing;
  };
  return {
    async locate(command, result) {
      const patience = Promise.withResolvers<never>();
      const timer = setTimeout(() => patience.reject(onItsWay()), PATIENCE_MS);
      try {
        return await Promise.race([underWay.get(command.id) ?? begin(command, result), patience.promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    stop: () => stopping.abort(),
  };
}

async function publish(
  storage: AccountStorage,
  command: CommandOutcome,
  result: CommandText,
  signal: AbortSignal,
): Promise<string> {
  const opened = await storage.open(command.accountId);
  const uri = `${opened.location.replace(/\/+$/, "")}${resultPath(command)}`;
  try {
    checkScheme(uri, opened);
    if ((await sizeThere(opened, uri, signal)) !== result.size) {
      await opened.store.put(uri, Readable.from(readText(result), { objectMode: false }), { signal });
    }
    return uri;
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw signal.aborted ? onItsWay() : error;
    throw PASSING.has(error.kind) ? onItsWay(error) : unpublishable(error.message);
  } finally {
    await opened.store.close();
  }
}

/** As the command's `path` has it. */
function resultPath({ id, accountId, createdAt }: CommandOutcome): string {
  return `/tmp/${createdAt.toISOString().slice(0, 10)}/${accountId}/${id}/results`;
}

async function sizeThere({ store }: OpenStorage, uri: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    return (await store.stat(uri, { signal })).size;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === "missing") return undefined;
    throw error;
  }
}

function checkScheme(uri: string, { hasKeys }: OpenStorage): void {
  const { scheme } = parseObjectUri(uri);
  if (scheme === "s3" && !hasKeys) throw unpublishable("the account has no storage keys");
  if (scheme === "hdfs") throw unpublishable("storage on hdfs is not supported by this version");
}

function unpublishable(reason: string): Fault {
  return new Fault(
    "invalid",
    `The result is too large for a reply and cannot be put into the account's storage: ${reason}. format=raw gives all of it.`,
  );
}

function onItsWay(cause?: unknown): Fault {
  return new Fault("unavailable", "The result is on its way to the account's storage; try again.", {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
