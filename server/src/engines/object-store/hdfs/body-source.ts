import { Readable } from "node:stream";
import { filePieces } from "../file-pieces.ts";
import type { ObjectBody } from "../object-store.ts";

/** A body that distinguishes its own errors from those of the connection: HTTP clients destroy the body with either. */
export class BodySource {
  readonly body: Readable | Buffer;
  readonly #given: ObjectBody;
  #failure: { readonly error: unknown } | undefined;

  constructor(given: ObjectBody) {
    this.#given = given;
    if (given instanceof Readable) given.on("error", () => undefined); // it may fail before it is read
    this.body = Buffer.isBuffer(given)
      ? given
      : Readable.from(this.#pieces(given instanceof Readable ? given : filePieces(given)), { objectMode: false });
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Stops reading. An open file stays open. */
  end(): void {
    if (!Buffer.isBuffer(this.body)) this.body.destroy();
    if (this.#given instanceof Readable) this.#given.destroy();
  }

  /** Not `for await`: the client's errors are thrown at `yield` and must not be taken for those of the source. */
  async *#pieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const pieces = source[Symbol.asyncIterator]();
    try {
      for (;;) {
        const step = await pieces.next().catch((error: unknown) => {
          this.#failure = { error };
          throw error;
        });
        if (step.done === true) return;
        yield step.value;
      }
    } finally {
      await pieces.return?.();
    }
  }
}
