import { MessageTooLong } from "./thrift-type.ts";

/** A parser that yields whenever it needs more bytes. */
export type Reading<T> = Generator<undefined, T, undefined>;

/**
 * The bytes of one message as they arrive. A parser calls `need` before it takes bytes, and taken bytes are released, so
 * that memory holds the values and one network chunk but never the whole message. Everything is charged to a budget before
 * it arrives, so that a forged length fails immediately.
 */
export class ByteSource {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #later: Buffer[] = [];
  #laterBytes = 0;
  #budgetBytes: number;
  readonly #pay: ((bytes: number) => void) | undefined;

  /** `pay` reserves the same bytes in a budget that many messages share. */
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

  /** Charges memory for values too: a list of a million empty structs is only one megabyte on the wire. */
  spend(bytes: number): void {
    this.#budgetBytes -= bytes;
    if (this.#budgetBytes < 0) throw new MessageTooLong("the message exceeds the size limit");
    this.#pay?.(bytes);
  }

  /** Whether `count` contiguous bytes are available without waiting. */
  has(count: number): boolean {
    return this.#bytes.length - this.#at >= count;
  }

  /** Waits for `count` bytes and makes them contiguous. Copies each byte at most once. */
  *need(count: number): Reading<void> {
    while (this.#bytes.length - this.#at + this.#laterBytes < count) yield;
    if (this.has(count)) return;
    this.#bytes = Buffer.concat([this.#bytes.subarray(this.#at), ...this.#later]);
    this.#at = 0;
    this.#later = [];
    this.#laterBytes = 0;
  }

  /** Discards `count` bytes as they arrive. */
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

  /** Invalid UTF-8 becomes U+FFFD, as in Java. */
  takeText(bytes: number): string {
    this.#at += bytes;
    return this.#bytes.toString("utf8", this.#at - bytes, this.#at);
  }
}
