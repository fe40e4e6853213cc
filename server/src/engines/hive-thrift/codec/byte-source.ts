import { MessageTooLong } from "./thrift-error.ts";

/** Reads as far as the bytes go, and pauses there. */
export type Reading<T> = Generator<undefined, T, undefined>;

/**
 * The bytes of one message as they come. A reader asks with `need` before it takes; what it has taken is let go, so that
 * memory holds the values and a piece of the network, not the message. Everything is paid from one budget before it is
 * waited for: a length that is a lie fails at once.
 */
export class ByteSource {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #later: Buffer[] = [];
  #laterBytes = 0;
  #budgetBytes: number;
  readonly #pay: ((bytes: number) => void) | undefined;

  /** What is spent is paid for besides, where many messages share memory. */
  constructor(budgetBytes: number, pay?: (bytes: number) => void) {
    this.#budgetBytes = budgetBytes;
    this.#pay = pay;
  }

  push(chunk: Buffer): void {
    if (this.#at === this.#bytes.length && this.#later.length === 0) {
      this.#bytes = chunk;
      this.#at = 0;
    } else {
      this.#later.push(chunk);
      this.#laterBytes += chunk.length;
    }
  }

  get isEmpty(): boolean {
    return this.#at === this.#bytes.length && this.#laterBytes === 0;
  }

  /** Values cost memory besides their bytes: a list of a million empty structs is a megabyte on the wire. */
  spend(bytes: number): void {
    this.#budgetBytes -= bytes;
    if (this.#budgetBytes < 0) throw new MessageTooLong("the message is longer than we take");
    this.#pay?.(bytes);
  }

  /** True when so many bytes are at hand in one piece: then nothing has to be waited for. */
  has(count: number): boolean {
    return this.#bytes.length - this.#at >= count;
  }

  /** Pauses until so many bytes are at hand, and lays them side by side: each byte is copied once at most. */
  *need(count: number): Reading<void> {
    while (this.#bytes.length - this.#at + this.#laterBytes < count) yield;
    if (this.has(count)) return;
    this.#bytes = Buffer.concat([this.#bytes.subarray(this.#at), ...this.#later]);
    this.#at = 0;
    this.#later = [];
    this.#laterBytes = 0;
  }

  /** Drops so many bytes, which need not be there yet, without holding them. */
  *skip(count: number): Reading<void> {
    let left = count;
    for (;;) {
      const here = Math.min(left, this.#bytes.length - this.#at);
      this.#at += here;
      left -= here;
      if (left === 0) return;
      const next = this.#later.shift();
      if (next === undefined) {
        yield;
      } else {
        this.#bytes = next;
        this.#at = 0;
        this.#laterBytes -= next.length;
      }
    }
  }

  takeInt8(): number {
    this.#at += 1;
    return this.#bytes.readInt8(this.#at - 1);
  }

  takeInt16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  takeInt32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  takeInt64(): bigint {
    this.#at += 8;
    return this.#bytes.readBigInt64BE(this.#at - 8);
  }

  takeDouble(): number {
    this.#at += 8;
    return this.#bytes.readDoubleBE(this.#at - 8);
  }

  /** What is no UTF-8 becomes U+FFFD, as in Java. */
  takeText(bytes: number): string {
    this.#at += bytes;
    return this.#bytes.toString("utf8", this.#at - bytes, this.#at);
  }
}
