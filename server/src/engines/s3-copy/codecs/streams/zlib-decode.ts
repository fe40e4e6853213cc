import { constants, createGunzip, createInflate, createZstdDecompress, type Gunzip } from "node:zlib";
import { CodecError, truncated } from "../blocks/codec-error.ts";

/** Node's default of 16 KiB makes decoding five times slower. */
const chunkSize = 256 * 1024;
/** 8 MiB, the window that every zstd decoder supports (RFC 8878). More would let a file decide about our memory. */
const WINDOW_LOG_MAX = 23;

type Decoder = Pick<Gunzip, "bytesWritten" | "destroy" | "end" | "off" | "once" | "write"> & AsyncIterable<Buffer>;

interface Format {
  readonly name: string;
  readonly start: () => Decoder;
}

const formats = {
  gzip: { name: "gzip", start: () => createGunzip({ chunkSize }) },
  deflate: { name: "zlib", start: () => createInflate({ chunkSize }) },
  zstd: {
    name: "zstd",
    start: () => createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX } }),
  },
} satisfies Record<string, Format>;

export type ZlibFormat = keyof typeof formats;

/**
 * Decodes a stream of one or more members. Zeros after a member are padding if nothing else follows, as for `gzip`. Node's
 * decoders silently stop there, so the rest is checked here.
 */
export async function* decodeZlib(format: ZlibFormat, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const input = new MemberInput(source);
  try {
    do {
      yield* decodeMember(formats[format], input);
    } while (await input.hasNextMember());
  } finally {
    await input.close();
  }
}

async function* decodeMember(format: Format, input: MemberInput): AsyncGenerator<Buffer> {
  const decoder = format.start();
  const feeding = input.feed(decoder);
  feeding.catch(() => undefined); // it also destroys the decoder
  try {
    for await (const chunk of decoder) yield chunk;
    await feeding;
  } catch (error) {
    throw describe(format, error, input);
  } finally {
    decoder.destroy();
  }
}

function describe(format: Format, error: unknown, input: MemberInput): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const { message } = error as Error;
  if (code === "Z_BUF_ERROR") return truncated(input.position);
  if (message === "incorrect header check" || code === "ZSTD_error_prefix_unknown") {
    return new CodecError(
      input.isInFirstMember
        ? `not a ${format.name} file`
        : `the data after a member is not ${format.name} data (before byte ${input.position})`,
    );
  }
  if (code === "ZSTD_error_frameParameter_windowTooLarge") {
    return new CodecError("the zstd window is larger than 8 MiB (written with --long or --ultra): not supported");
  }
  if (!code.startsWith("Z_") && !code.startsWith("ZSTD_")) return error;
  return new CodecError(`damaged ${format.name} data: ${message} (before byte ${input.position})`, { cause: error });
}

/** The source, with the bytes that the previous decoder did not use. */
class MemberInput {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #position = 0;
  #members = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The number of bytes that were given to decoders. */
  get position(): number {
    return this.#position;
  }

  get isInFirstMember(): boolean {
    return this.#members === 1;
  }

  /** Gives the decoder one chunk at a time until its data or the source ends. */
  async feed(decoder: Decoder): Promise<void> {
    this.#members++;
    try {
      for (;;) {
        const chunk = await this.#next();
        if (chunk === undefined) break;
        const taken = await take(decoder, chunk);
        this.#position += taken;
        this.#rest = chunk.subarray(taken);
        if (taken < chunk.length) break; // the member has ended
      }
      decoder.end();
    } catch (error) {
      decoder.destroy(error as Error);
      throw error;
    }
  }

  async hasNextMember(): Promise<boolean> {
    const first = await this.#next();
    if (first === undefined) return false;
    if (first[0] !== 0) {
      this.#rest = first;
      return true;
    }
    for (let chunk: Buffer | undefined = first; chunk !== undefined; chunk = await this.#next()) {
      this.#position += chunk.length;
      if (chunk.some((byte) => byte !== 0)) {
        throw new CodecError(`data follows after zeros (before byte ${this.#position})`);
      }
    }
    return false;
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** The next bytes, or undefined at the end of the source. */
  async #next(): Promise<Buffer | undefined> {
    let chunk = this.#rest;
    this.#rest = Buffer.alloc(0);
    while (chunk.length === 0) {
      const next = await this.#source.next();
      if (next.done === true) return undefined;
      chunk = next.value;
    }
    return chunk;
  }
}

/** The number of bytes that the decoder used: fewer than there are if its data ended, none if it failed. */
function take(decoder: Decoder, chunk: Buffer): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const before = decoder.bytesWritten;
  const finish = () => {
    decoder.off("close", finish);
    resolve(decoder.bytesWritten - before);
  };
  decoder.once("close", finish); // a decoder that fails does not call back
  decoder.write(chunk, finish);
  return promise;
}
