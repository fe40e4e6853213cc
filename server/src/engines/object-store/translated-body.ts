import { Readable } from "node:stream";

/** The same bytes; what breaks on the way breaks in our words, and destroying it ends its source at once. */
export function translatedBody(source: Readable, translate: (error: unknown) => unknown): Readable {
  const body = Readable.from(chunksOf(source, translate), { objectMode: false });
  source.on("error", () => undefined); // one that is destroyed before its first read has nobody else who listens
  body.once("close", () => source.destroy());
  return body;
}

async function* chunksOf(source: Readable, translate: (error: unknown) => unknown): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    throw translate(error);
  }
}
