import { StreamReply } from "../../http/stream-reply.ts";
import { RESULTS_FIELD, type CommandResult, type ResultFormat } from "./command-result.ts";
import { STREAM_TYPES } from "./table-result.ts";

/** Of a script whose statements all returned nothing: no rows, and no columns either. */
export const emptyResult: CommandResult = {
  inline: (fields) =>
    Promise.resolve(
      new StreamReply("application/json", whole(Buffer.from(JSON.stringify({ ...fields, [RESULTS_FIELD]: "" })))),
    ),
  stream: (format) => Promise.resolve(new StreamReply(STREAM_TYPES[format], whole(EMPTY[format]))),
  content: { isEmpty: true, size: () => Promise.resolve(0), read: () => whole(Buffer.alloc(0)) },
};

/** A schema without fields, and the mark of the end. */
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
