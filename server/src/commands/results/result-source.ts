/**
 * Finds the results of a kind of command. The kind decides where they are, not the files that exist: so a program cannot
 * pass off a file as rows, and a removed result is not taken for an empty one.
 */
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import { findResult, type SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import type { AttemptFiles } from "../execution/command-files.ts";
import { unreachableNode, type OtherNodes } from "../output/other-nodes.ts";
import { hasEnded } from "../store/command-row.ts";
import type { ResultOwner } from "../store/outcome.ts";
import { filePart, type TextPart, type CommandFilesOf, type CommandTexts } from "../output/command-text.ts";
import {
  type CommandResult,
  type CommandResults,
  type LocalResults,
  textContent,
  RESULTS_FIELD,
  type Content,
  type ResultFormat,
  type ResultOptions,
} from "./command-result.ts";
import { frameChunks, StreamReply, type StreamType } from "../../http/stream-reply.ts";
import { invalid, type Fault } from "../../lib/fault.ts";
import type { RenderOptions } from "../../engines/arrow-result/rendering.ts";

export interface ResultSource {
  /** Whether a failed or cancelled command has a result: what it printed until then. */
  readonly isKeptAfterFailure: boolean;
  /** Reads the files of the last attempt. Undefined: they were removed. */
  local(command: ResultOwner, files: AttemptFiles): Promise<CommandResult | undefined>;
  /** Reads the text that another node has published. */
  published(text: TextPart, nodeId: string | null | undefined): CommandResult;
}

/** The results of programs: their standard output. */
export const printedResults: ResultSource = {
  isKeptAfterFailure: true,
  async local(_, { output }) {
    const text = await filePart(output);
    return text === undefined ? undefined : printedResult(text);
  },
  published: (text) => printedResult(text),
};

/** The results of queries, table refreshes and copies: rows and columns. */
export function tableResults(renderer: ResultRenderer): ResultSource {
  return {
    isKeptAfterFailure: false,
    async local({ resultBytes }, { folder }) {
      const spool = await findResult(folder);
      if (spool !== undefined) return tableResult(spool, renderer);
      return resultBytes === 0 ? emptyResult : undefined;
    },
    published: (text, nodeId) => printedResult(text, () => unreachableNode(nodeId)),
  };
}

export type ResultSourceOf = (command: ResultOwner) => ResultSource;

export function localResults(commandFilesOf: CommandFilesOf, sourceOf: ResultSourceOf): LocalResults {
  return {
    of(command) {
      const files = commandFilesOf(command.accountId, command.id).attempt(command.attempt);
      return sourceOf(command).local(command, files);
    },
  };
}

/** If another node ran the command and cannot be reached, the result is the text that it has published. */
export function commandResults(
  local: LocalResults,
  sourceOf: ResultSourceOf,
  texts: Pick<CommandTexts, "result">,
  nodes: Pick<OtherNodes, "isHere">,
  inlineLimitBytes: number,
): CommandResults {
  return {
    inlineLimitBytes,
    mayExist: (command) =>
      command.status === "done" || (hasEnded(command.status) && sourceOf(command).isKeptAfterFailure),
    async of(command) {
      const nodeId = command.nodes.at(-1);
      if (nodes.isHere(nodeId)) return local.of(command);
      const text = await texts.result(command);
      if (text !== undefined) return sourceOf(command).published(text, nodeId);
      // The output of a failed or cancelled program is published only on request, so that node may still have it.
      if (command.status !== "done") throw unreachableNode(nodeId);
      return undefined;
    },
  };
}

/** The result of a program is its standard output, unchanged. It has no columns, so the options for columns do nothing. */
function printedResult(output: TextPart, refuseFormat: () => Fault = hasNoColumns): CommandResult {
  const all = (): AsyncIterable<Uint8Array> => output.read(0, output.size);
  return {
    inline(fields, _, limitBytes) {
      if (output.size >= limitBytes) return Promise.resolve(undefined);
      return Promise.resolve(new StreamReply("application/json", streamedJson(fields, RESULTS_FIELD, all())));
    },
    stream(format) {
      if (format !== "raw") throw refuseFormat();
      const headers = { "Content-Length": String(output.size) };
      return Promise.resolve(new StreamReply("application/octet-stream", all(), headers));
    },
    content: textContent(output),
  };
}

function hasNoColumns(): Fault {
  return invalid("format", "must be raw or absent for a program: its output has no columns");
}

/**
 * A JSON object whose last field is a long text, encoded while the text is read: encoding it at once would take a
 * multiple of its size in memory for each client. Invalid UTF-8 becomes U+FFFD.
 */
async function* streamedJson(
  fields: Readonly<Record<string, unknown>>,
  lastField: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  yield `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(lastField)}:"`;
  for await (const piece of bytes) yield escaped(decoder.decode(piece, { stream: true }));
  yield `${escaped(decoder.decode())}"}`;
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const STREAM_TYPES: Readonly<Record<ResultFormat, StreamType>> = {
  raw: "application/octet-stream",
  json: "application/json",
  csv: "text/csv",
  arrow: "application/vnd.apache.arrow.stream",
};

/** The rows of a query, stored as Arrow and converted to the requested format while they are read. */
function tableResult(spool: SpooledResult, renderer: ResultRenderer): CommandResult {
  return {
    async inline(fields, options, limitBytes) {
      const renderOptions = { ...textOf(options), escaped: true };
      const pieces = await renderer.renderUnder(limitBytes, spool, renderOptions);
      if (pieces === undefined) return undefined;
      const head = `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(RESULTS_FIELD)}:"`;
      return new StreamReply("application/json", frameChunks([head], pieces[Symbol.asyncIterator](), ['"}']));
    },
    async stream(format, options) {
      const renderOptions = format === "raw" ? textOf(options) : { format, includeHeaders: options.includeHeaders };
      const pieces = renderer.render(spool, renderOptions)[Symbol.asyncIterator]();
      // A failure before the first piece can still be reported by the status of the reply.
      const first = await pieces.next();
      return new StreamReply(STREAM_TYPES[format], frameChunks(first.done === true ? [] : [first.value], pieces));
    },
    content: tableContent(spool, renderer),
  };
}

function textOf({ includeHeaders, raw }: ResultOptions): RenderOptions {
  return { format: raw ? "raw" : "text", includeHeaders };
}

/** The text that `results` shows inline, without headers. Its size is known and stored only after a first rendering. */
function tableContent(spool: SpooledResult, renderer: ResultRenderer): Content {
  const sizeFile = textSizeFile(dirname(spool.indexFile));
  return {
    isEmpty: spool.rows === 0,
    async size() {
      const storedBytes = Number(await readFile(sizeFile, "utf8").catch(() => ""));
      return storedBytes > 0 ? storedBytes : undefined;
    },
    read: () => renderer.render(spool, { format: "text" }),
    counted: (size) => writeFile(sizeFile, String(size), { mode: 0o600 }),
  };
}

/** In the attempt's folder, beside the result. */
export function textSizeFile(folder: string): string {
  return join(folder, "result-text-size");
}

/** The result of a script without any statement that returns rows: no rows and no columns. */
const emptyResult: CommandResult = {
  inline: (fields) =>
    Promise.resolve(
      new StreamReply("application/json", whole(Buffer.from(JSON.stringify({ ...fields, [RESULTS_FIELD]: "" })))),
    ),
  stream: (format) => Promise.resolve(new StreamReply(STREAM_TYPES[format], whole(EMPTY[format]))),
  content: { isEmpty: true, size: () => Promise.resolve(0), read: () => whole(Buffer.alloc(0)) },
};

/** An Arrow stream with a schema without fields, and its end. */
const EMPTY_ARROW = Buffer.from(
  "/////zgAAAAQAAAAAAAKABAADgAHAAgACgAAAAAAAAEQAAAAAAAEAAgACAAAAAQACAAAAAQAAAAAAAAAAAAAAP////8AAAAA",
  "base64",
);

const EMPTY: Readonly<Record<ResultFormat, Buffer>> = {
  raw: Buffer.alloc(0),
  json: Buffer.from("[]\n"),
  csv: Buffer.alloc(0),
  arrow: EMPTY_ARROW,
};

async function* whole(bytes: Buffer): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
