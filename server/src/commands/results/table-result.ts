import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RenderOptions } from "../../engines/arrow-result/rendering.ts";
import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import type { SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import { frameChunks, StreamReply, type StreamType } from "../../http/stream-reply.ts";
import {
  type Content,
  INLINE_LIMIT_BYTES,
  RESULTS_FIELD,
  type CommandResult,
  type ResultFormat,
  type ResultOptions,
} from "./command-result.ts";

const STREAM_TYPES: Readonly<Record<ResultFormat, StreamType>> = {
  raw: "application/octet-stream",
  json: "application/json",
  csv: "text/csv",
  arrow: "application/vnd.apache.arrow.stream",
};

/** The rows of a query, stored as Arrow and converted to the requested format while they are read. */
export function tableResult(spool: SpooledResult, renderer: ResultRenderer, accountId: number): CommandResult {
  const reading = { owner: accountId };
  return {
    async inline(fields, options) {
      const asked = { ...textOf(options), escaped: true };
      const pieces = await renderer.renderUnder(INLINE_LIMIT_BYTES, spool, asked, reading);
      if (pieces === undefined) return undefined;
      const head = `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(RESULTS_FIELD)}:"`;
      return new StreamReply("application/json", frameChunks([head], pieces[Symbol.asyncIterator](), ['"}']));
    },
    async stream(format, options) {
      const asked = format === "raw" ? textOf(options) : { format, includeHeaders: options.includeHeaders };
      const pieces = renderer.render(spool, asked, reading)[Symbol.asyncIterator]();
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
  const note = textSizeFile(dirname(spool.indexFile));
  return {
    isEmpty: spool.rows === 0,
    async size() {
      const noted = Number(await readFile(note, "utf8").catch(() => ""));
      return noted > 0 ? noted : undefined;
    },
    read: () => renderer.render(spool, { format: "text" }),
    counted: (size) => writeFile(note, String(size), { mode: 0o600 }),
  };
}

/** In the attempt's folder, beside the result. */
export function textSizeFile(folder: string): string {
  return join(folder, "result-text-size");
}

/** The result of a script without any statement that returns rows: no rows and no columns. */
export const emptyResult: CommandResult = {
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
