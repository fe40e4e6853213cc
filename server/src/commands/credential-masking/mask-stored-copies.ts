import type { Database } from "../../db/database.ts";
import type { KeyRing } from "../../lib/key-ring.ts";
import type { Log } from "../../lib/log.ts";
import { openSecrets, sealSecrets, type CommandSecrets } from "./command-secrets.ts";
import { givenMacros, givenMacrosJson, macroValues, resolvedMacrosOf } from "../submission/macros.ts";
import {
  storeMaskedCopies,
  takeUnmaskedCopies,
  type RemaskedCopy,
  type UnmaskedCopy,
} from "../store/unmasked-copies.ts";
import { maskStoredCopy } from "./mask-stored-copy.ts";

export interface MaskStoredCopiesOptions {
  db: Pick<Database, "asSystem">;
  keys: KeyRing;
  log: Log;
  batch?: number;
}

const BATCH = 100;

/**
 * Seals and masks the credentials that earlier versions stored in the clear. Each batch is a transaction that marks its
 * rows, so after a crash the work resumes where it stopped, and several nodes can share it. The task runs again and
 * again, because nodes of an earlier version may add rows during an upgrade. A row that cannot be masked is logged and
 * left for the next run.
 */
export async function maskStoredCopies(options: MaskStoredCopiesOptions, stopped: AbortSignal): Promise<void> {
  const { db, log, batch = BATCH } = options;
  let masked = 0;
  let afterId = 0;
  try {
    while (!stopped.aborted) {
      const { lastId, sealed } = await db.asSystem(async (tx) => {
        const copies = await takeUnmaskedCopies(tx, afterId, batch);
        const done = copies.flatMap((copy) => maskedOrLogged(copy, options));
        if (done.length > 0) await storeMaskedCopies(tx, done);
        return { lastId: copies.at(-1)?.id, sealed: done.filter(({ secrets }) => secrets !== null).length };
      });
      if (lastId === undefined) return;
      masked += sealed;
      afterId = lastId;
    }
  } finally {
    if (masked > 0) log.info({ commands: masked }, "masked the keys of copies that an earlier version had stored");
  }
}

function maskedOrLogged(copy: UnmaskedCopy, { keys, log }: MaskStoredCopiesOptions): RemaskedCopy[] {
  try {
    return [maskedRow(copy, keys)];
  } catch (error) {
    // The message of a JSON parser quotes its input, which may contain a key.
    const err = error instanceof SyntaxError ? undefined : error;
    log.error({ err, command: copy.id }, "the keys of a stored copy could not be masked");
    return [];
  }
}

function maskedRow(copy: UnmaskedCopy, keys: KeyRing): RemaskedCopy {
  const { id, accountId, command, secrets } = copy;
  const opened: CommandSecrets = secrets === null ? {} : openSecrets(keys, accountId, secrets);
  if (opened.sub_command_args !== undefined) return copy; // a rerun by a node of an earlier version: masked, not marked
  const { sub_command_args: args } = command;
  const { shown, sealed, macros, values } = maskStoredCopy({
    args: typeof args === "string" ? args : "",
    macros: { given: givenMacros(copy.macros), values: macroValues(copy.resolvedMacros) },
    encryptionKeys: opened.encryptionKey ?? [],
  });
  return {
    id,
    command: { ...command, sub_command_args: shown },
    secrets: sealed === null ? null : sealSecrets(keys, accountId, { sub_command_args: sealed }),
    macros: givenMacrosJson(macros),
    resolvedMacros: resolvedMacrosOf(values),
  };
}
