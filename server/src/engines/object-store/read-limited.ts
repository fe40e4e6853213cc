import { ObjectStoreError } from "./object-store-error.ts";

/** Reads a small document. */
export async function readLimited(body: AsyncIterable<Buffer>, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > limitBytes) throw new ObjectStoreError("bad-response", `the answer is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
