import type { StreamReply } from "../../http/stream-reply.ts";
import type { CommandOutcome, ResultOwner } from "../store/outcome.ts";

export const RESULT_FORMATS = ["raw", "json", "csv", "arrow"] as const;
export type ResultFormat = (typeof RESULT_FORMATS)[number];

export interface ResultOptions {
  /** Whether the names of the columns come first. */
  readonly includeHeaders: boolean;
  /** Whether ^A separates columns instead of a tab. */
  readonly raw: boolean;
}

/** The result of a command that has ended: the output of a program, the rows of a query, or nothing. */
export interface CommandResult {
  /** A JSON object of the fields, with the text as the last field. Undefined: the text has `limitBytes` or more. */
  inline(
    fields: Readonly<Record<string, unknown>>,
    options: ResultOptions,
    limitBytes: number,
  ): Promise<StreamReply | undefined>;
  /** Streams a result of any size. Throws if the result does not have the format. */
  stream(format: ResultFormat, options: ResultOptions): Promise<StreamReply>;
  /** The content that is published to the account's storage. */
  readonly content: Content;
}

/** The results of commands that have ended. */
export interface CommandResults {
  /** False before the end, and after a failure or a cancel unless the command is a program. */
  mayExist(command: CommandOutcome): boolean;
  /** A result of this size or more, as text, is put into the account's storage instead of a reply. */
  readonly inlineLimitBytes: number;
  /** Only if it may exist. Undefined: it was removed, or the program never began. */
  of(command: CommandOutcome): Promise<CommandResult | undefined>;
}

/** For handlers: their services have it under this name. */
export interface WithResults {
  commandResults: CommandResults;
}

/** The results of commands whose last attempt this node ran. */
export interface LocalResults {
  of(command: ResultOwner): Promise<CommandResult | undefined>;
}

/** The field of replies that has the text. */
export const RESULTS_FIELD = "results";

/** The content of an object in an account's storage. */
export interface Content {
  readonly isEmpty: boolean;
  /** Undefined: not known yet. */
  size(): Promise<number | undefined>;
  read(): AsyncIterable<Uint8Array>;
  /** The file of this node that has exactly this content; absent: there is none. */
  readonly path?: string;
  /** Called with the size after all of it was uploaded, if the size was not known before. */
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
