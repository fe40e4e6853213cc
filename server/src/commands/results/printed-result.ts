import { StreamReply } from "../../http/stream-reply.ts";
import { invalid, type Fault } from "../../lib/fault.ts";
import { textContent, INLINE_LIMIT_BYTES, RESULTS_FIELD, type CommandResult } from "./command-result.ts";
import type { TextPart } from "../output/text-part.ts";

/** The result of a program is its standard output, unchanged. It has no columns, so the options for columns do nothing. */
export function printedResult(output: TextPart, otherFormat: () => Fault = hasNoColumns): CommandResult {
  const all = (): AsyncIterable<Uint8Array> => output.read(0, output.size);
  return {
    inline(fields) {
      if (output.size >= INLINE_LIMIT_BYTES) return Promise.resolve(undefined);
      return Promise.resolve(new StreamReply("application/json", streamedJson(fields, RESULTS_FIELD, all())));
    },
    stream(format) {
      if (format !== "raw") throw otherFormat();
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
 * A JSON object whose last field is a long text, encoded while the text is read: encoding 20 MB at once would take a
 * multiple of that in memory for each client. Invalid UTF-8 becomes U+FFFD.
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
