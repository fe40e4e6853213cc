import { Readable } from "node:stream";
import { filePieces } from "../file-pieces.ts";
import type { ObjectBody } from "../object-store.ts";

/** A body to send that tells its own failure from one of the connection: a client destroys what it sends with either. */
export class BodySource {
  readonly body: Readable | Buffer;
  readonly #given: ObjectBody;
  #failure: { readonly error: unknown } | undefined;

  constructor(given: ObjectBody) {
    this.#given = given;
    if (given instanceof Readable) given.on("error", () => undefined); // it may fail before anybody reads it
    this.body = Buffer.isBuffer(given)
      ? given
      : Readable.from(this.#pieces(given instanceof Readable ? given : filePieces(given)), { objectMode: false });
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Nothing more is read, whether all of it was or not. An open file stays open. */
  end(): void {
    if (!Buffer.isBuffer(this.body)) this.body.destroy();
    if (this.#given instanceof Readable) this.#given.destroy();
  }

  /** Not `for await` in a `try`: a client's failure is thrown at the `yield`, the source's own by the source. */
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
