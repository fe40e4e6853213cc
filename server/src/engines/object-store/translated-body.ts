import { Readable } from "node:stream";

/** A stream of the same bytes whose errors are translated. Destroying it destroys its source immediately. */
export function translatedBody(source: Readable, translate: (error: unknown) => unknown): Readable {
  const body = Readable.from(chunksOf(source, translate), { objectMode: false });
  source.on("error", () => undefined); // nothing else listens if it is destroyed before the first read
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
