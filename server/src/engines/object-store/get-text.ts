import type { CallOptions, ObjectStore } from "./object-store.ts";
import { ObjectStoreError } from "./object-store-error.ts";

/** The whole object as text without a byte order mark. Takes at most one byte more than the limit off the store. */
export async function getText(
  store: ObjectStore,
  uri: string,
  limitBytes: number,
  options: CallOptions = {},
): Promise<string> {
  const { body, size } = await store.get(uri, options);
  const chunks: Buffer[] = [];
  let bytes = size;
  if (size <= limitBytes) {
    bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > limitBytes) break; // the size was not true
    }
  }
  body.destroy();
  if (bytes > limitBytes) throw new ObjectStoreError("too-large", `${uri}: more than ${limitBytes} bytes`);
  return decode(uri, Buffer.concat(chunks));
}

function decode(uri: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ObjectStoreError("not-text", `${uri}: not UTF-8 text`, { cause: error });
  }
}
