import { StreamReply } from "../../http/stream-reply.ts";
import { invalid, type Fault } from "../../lib/fault.ts";
import { textContent } from "./content.ts";
import { streamedJson } from "./streamed-json.ts";
import type { TextPart } from "../output/text-part.ts";
import { INLINE_LIMIT_BYTES, RESULTS_FIELD, type CommandResult } from "./command-result.ts";

/** A program's result is its standard output, unchanged. It has no columns, so the options of columns mean nothing. */
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
