import type { Database } from "../../db/database.ts";
import type { KeyRing } from "../../lib/key-ring.ts";
import type { Log } from "../../lib/log.ts";
import { openSecrets, sealSecrets, type CommandSecrets } from "./command-secrets.ts";
import {
  givenMacros,
  givenMacrosJson,
  macroValues,
  resolvedMacrosOf,
  macroPieces,
  type TextPiece,
} from "../submission/macros.ts";
import {
  storeMaskedCopies,
  takeUnmaskedCopies,
  type RemaskedCopy,
  type UnmaskedCopy,
} from "../store/unmasked-copies.ts";
import { Fault } from "../../lib/fault.ts";
import { secretMask } from "../../lib/secret.ts";
import { quoteWord, readWords } from "../../lib/shell-words.ts";
import { filledText, maskCopy, type Macros, type MaskedCopy } from "./mask-copy.ts";
import { secretSpans, type Span } from "./secret-spans.ts";

interface MaskStoredCopiesOptions {
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

/**
 * A copy as earlier versions stored it. The values of `encryptionKey` are sealed, in the order of their masks and with
 * their macros filled in. Other credentials and the macros are in the clear.
 */
interface StoredCopy {
  args: string;
  macros: Macros;
  encryptionKeys: readonly string[];
}

function maskStoredCopy({ args, macros, encryptionKeys }: StoredCopy): MaskedCopy {
  const pieces = storedPieces(args, macros, encryptionKeys);
  return maskCopy(pieces, macros, storedSpans(filledText(pieces)), macrosWithin(encryptionKeys, macros));
}

/** A text that cannot be split into words counts as secret as a whole; submission refuses such texts now. */
function storedSpans(text: string): Span[] {
  try {
    return secretSpans(text, "sub_command_args");
  } catch (error) {
    if (error instanceof Fault) return [{ start: 0, end: text.length }];
    throw error;
  }
}

/** The arguments, with the sealed values put back in place of their masks. */
function storedPieces(args: string, { values }: Macros, encryptionKeys: readonly string[]): TextPiece[] {
  const masks = masksOf(args);
  if (masks.length < encryptionKeys.length) throw new Error("fewer masks than sealed values");
  const pieces: TextPiece[] = [];
  let at = 0;
  for (const [index, { start, end }] of masks.entries()) {
    const key = encryptionKeys[index];
    if (key === undefined) break;
    pieces.push(...macroPieces(args.slice(at, start), values), {
      written: secretMask,
      filled: quoteWord(key),
      macro: null,
    });
    at = end;
  }
  return [...pieces, ...macroPieces(args.slice(at), values)];
}

/**
 * Finds the masks of earlier versions, which recognised only these spellings of the option, before macros were filled
 * in.
 */
function masksOf(args: string): Span[] {
  const masks: Span[] = [];
  let isValue = false;
  for (const { text, end } of readWords(args, "sub_command_args")) {
    const sign: string | undefined = isValue ? undefined : /^--?encryptionKey(=|$)/.exec(text)?.[1];
    const hasMask = args.endsWith(secretMask, end);
    if (hasMask && (isValue || sign === "=")) masks.push({ start: end - secretMask.length, end });
    isValue = sign === "";
  }
  return masks;
}

/** The macros that supplied a sealed value are not stored, so every macro whose value is part of it counts. */
function macrosWithin(encryptionKeys: readonly string[], { values }: Macros): ReadonlySet<string> {
  const isWithin = (value: string): boolean => value !== "" && encryptionKeys.some((key) => key.includes(value));
  return new Set([...values].filter(([, value]) => isWithin(value)).map(([name]) => name));
}
