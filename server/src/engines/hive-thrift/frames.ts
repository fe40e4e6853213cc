/** After SASL, Thrift's messages come in frames: a length and so many bytes. */
const HEAD_BYTES = 4;

export function frame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(message.length);
  return Buffer.concat([head, message]);
}

export class FrameReader {
  /** Of a head that has not come as a whole. */
  #head = Buffer.alloc(0);
  /** Of the current frame. */
  #missing = 0;

  /** What of the chunk belongs to messages. */
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
