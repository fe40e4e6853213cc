import type { StreamReply } from "../../http/stream-reply.ts";
import type { CommandOutcome, ResultOwner } from "../store/outcome.ts";

/** A result of this size or more, as text, is put into the account's storage instead of a reply. */
export const INLINE_LIMIT_BYTES = 20_000_000;

export const RESULT_FORMATS = ["raw", "json", "csv", "arrow"] as const;
export type ResultFormat = (typeof RESULT_FORMATS)[number];

export interface ResultOptions {
  /** The columns' names first. */
  readonly includeHeaders: boolean;
  /** Columns apart by ^A instead of a tab. */
  readonly raw: boolean;
}

/** What has come of a command that is done: what a program printed, the rows of a query, or nothing. */
export interface CommandResult {
  /** A JSON object of the fields and, as its last, the text. Undefined: that is too large. */
  inline(fields: Readonly<Record<string, unknown>>, options: ResultOptions): Promise<StreamReply | undefined>;
  /** Of any size. Refuses a format that the result cannot have. */
  stream(format: ResultFormat, options: ResultOptions): Promise<StreamReply>;
  /** As it is put into the account's storage. */
  readonly content: Content;
}

/** Of commands that are done. */
export interface CommandResults {
  /** Undefined: it is not kept any more. */
  of(command: CommandOutcome): Promise<CommandResult | undefined>;
}

/** For handlers: their services have it under this name. */
export interface WithResults {
  commandResults: CommandResults;
}

/** Of those whose last attempt this node ran. */
export interface LocalResults {
  of(command: ResultOwner): Promise<CommandResult | undefined>;
}

/** What the replies have the text under. */
export const RESULTS_FIELD = "results";

/** What is put into an account's storage, from its beginning to its end. */
export interface Content {
  readonly isEmpty: boolean;
  /** Undefined: nobody has counted it yet. */
  size(): Promise<number | undefined>;
  read(): AsyncIterable<Uint8Array>;
  /** Where it is all of a file of this node. */
  readonly path?: string;
  /** All of it is there: so much it was. Told where the size was not known. */
  counted?(size: number): Promise<void>;
}

interface MeasuredText {
  readonly size: number;
  readonly path?: string;
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

export function textContent(text: MeasuredText): Content {
  const { size, path } = text;
  return {
    isEmpty: size === 0,
    size: () => Promise.resolve(size),
    read: () => text.read(0, size),
    ...(path === undefined ? {} : { path }),
  };
}
