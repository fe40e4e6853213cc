/** After SASL, Thrift's messages are framed: each has its length before it. */
const HEAD_BYTES = 4;

export function frame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(message.length);
  return Buffer.concat([head, message]);
}

export class FrameReader {
  /** Bytes of an incomplete header. */
  #head = Buffer.alloc(0);
  /** Bytes that the current frame still lacks. */
  #missing = 0;

  /** Yields the content of frames in the chunk. */
  *contents(chunk: Buffer): Generator<Buffer> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#missing === 0) {
        const wanted = HEAD_BYTES - this.#head.length;
        this.#head = Buffer.concat([this.#head, rest.subarray(0, wanted)]);
        rest = rest.subarray(wanted);
        if (this.#head.length < HEAD_BYTES) return;
        this.#missing = this.#head.readUInt32BE();
        this.#head = Buffer.alloc(0);
      } else {
        const content = rest.subarray(0, this.#missing);
        this.#missing -= content.length;
        rest = rest.subarray(content.length);
        yield content;
      }
    }
  }
}
