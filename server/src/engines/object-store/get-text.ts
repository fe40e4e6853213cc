import type { CallOptions, ObjectStore } from "./object-store.ts";
import { ObjectStoreError } from "./object-store-error.ts";

/** Reads an object as text without a byte order mark. Stops reading as soon as it exceeds the limit. */
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
      if (bytes > limitBytes) break; // the reported size was wrong
    }
  }
  body.destroy();
  if (bytes > limitBytes) throw new ObjectStoreError("too-large", `${uri}: larger than ${limitBytes} bytes`);
  return decode(uri, Buffer.concat(chunks));
}

function decode(uri: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ObjectStoreError("not-text", `${uri}: not UTF-8 text`, { cause: error });
  }
}
