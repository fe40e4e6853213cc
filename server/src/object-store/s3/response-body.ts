import { Readable } from "node:stream";
import type { ObjectStoreError } from "../object-store-error.ts";
import { badResponse, type ResponseHead } from "./response-head.ts";

/** The body of a response while it arrives. */
export interface ArrivingBody {
  /** Where the socket may write the next bytes; undefined: they must be passed to `add`. */
  room?(): Buffer | undefined;
  /** This many bytes were written into the room. */
  filled?(count: number): void;
  /** Returns how many of the bytes belong to the body. */
  add(bytes: Buffer): number;
  readonly isComplete: boolean;
  /** The connection cannot be used again: its end is the end of the body, or the body was not read to its end. */
  readonly endsConnection: boolean;
  readonly bytes: Buffer;
}

/** Where the body of a success goes, or how large it may be in new memory. */
export type BodyRoom = Buffer | number | BodyStream;

/** The rest of an error's body is not read. */
export const ERROR_LIMIT_BYTES = 64 * 1024;

/** The body of a response that is read while it arrives. `onRead` is called when its reader wants more. */
export class BodyStream extends Readable {
  readonly #onRead: () => void;
  /** The reader has enough for now. */
  isFull = false;

  constructor(onRead: () => void) {
    super();
    this.#onRead = onRead;
    this.on("error", () => undefined); // nothing else listens before its reader has it
  }

  override _read(): void {
    this.isFull = false;
    this.#onRead();
  }

  add(bytes: Buffer): void {
    this.isFull = !this.push(Buffer.from(bytes)); // the memory of the socket is used again
  }
}

export function bodyOf(head: ResponseHead, method: string, room: BodyRoom): ArrivingBody {
  const { status, length, isChunked } = head;
  if (method === "HEAD" || status === 204 || status === 304) return new SizedBody(Buffer.alloc(0));
  const given = isSuccess(status) ? room : ERROR_LIMIT_BYTES;
  if (given instanceof BodyStream) {
    // Without a length and without chunks, a body that is cut short looks complete.
    if (length === null && !isChunked) throw badResponse("has no length");
    return framed(given, length, isChunked);
  }
  const limit = typeof given === "number" ? given : given.length;
  if (length !== null && length > limit && isSuccess(status)) throw tooLong(limit);
  if (length !== null && length <= limit) {
    return new SizedBody(typeof given === "number" ? Buffer.allocUnsafe(length) : given.subarray(0, length));
  }
  const memory = typeof given === "number" ? Buffer.alloc(0) : given;
  return framed(new GatheredBytes(memory, limit, !isSuccess(status)), null, isChunked);
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function framed(sink: Sink, length: number | null, isChunked: boolean): ArrivingBody {
  return isChunked ? new ChunkedBody(sink) : new PlainBody(sink, length);
}

export function tooLong(bytes: number): ObjectStoreError {
  return badResponse(`is larger than ${bytes} bytes`);
}

/** A body of known length goes straight into its memory. */
class SizedBody implements ArrivingBody {
  readonly endsConnection = false;
  readonly bytes: Buffer;
  #count = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isComplete(): boolean {
    return this.#count === this.bytes.length;
  }

  room(): Buffer | undefined {
    return this.isComplete ? undefined : this.bytes.subarray(this.#count);
  }

  filled(count: number): void {
    this.#count += count;
  }

  add(bytes: Buffer): number {
    const count = bytes.copy(this.bytes, this.#count);
    this.#count += count;
    return count;
  }
}

/** Takes the bytes of a body. */
interface Sink {
  add(bytes: Buffer): void;
  /** It takes no more: the rest of the body is not read. */
  readonly isCut?: boolean;
  readonly bytes?: Buffer;
}

/** Bytes of a body whose length is not known. */
class GatheredBytes implements Sink {
  readonly #limit: number;
  readonly #isCutAtLimit: boolean;
  #memory: Buffer;
  #count = 0;
  isCut = false;

  constructor(memory: Buffer, limit: number, isCutAtLimit: boolean) {
    this.#memory = memory;
    this.#limit = limit;
    this.#isCutAtLimit = isCutAtLimit;
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#count);
  }

  add(given: Buffer): void {
    this.isCut = this.#isCutAtLimit && this.#count + given.length > this.#limit;
    const bytes = this.isCut ? given.subarray(0, this.#limit - this.#count) : given;
    const end = this.#count + bytes.length;
    if (end > this.#limit) throw tooLong(this.#limit);
    if (end > this.#memory.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(end, 2 * this.#memory.length), this.#limit));
      this.bytes.copy(larger);
      this.#memory = larger;
    }
    bytes.copy(this.#memory, this.#count);
    this.#count = end;
  }
}

abstract class FramedBody implements ArrivingBody {
  protected readonly sink: Sink;

  constructor(sink: Sink) {
    this.sink = sink;
  }

  abstract readonly isComplete: boolean;
  abstract readonly endsConnection: boolean;
  abstract add(bytes: Buffer): number;

  get bytes(): Buffer {
    return this.sink.bytes ?? Buffer.alloc(0);
  }
}

/** A body that ends after its length, with its connection, or where the rest of an error is not read. */
class PlainBody extends FramedBody {
  readonly endsConnection: boolean;
  #left: number;

  constructor(sink: Sink, length: number | null) {
    super(sink);
    this.#left = length ?? Infinity;
    this.endsConnection = length === null;
  }

  get isComplete(): boolean {
    return this.#left === 0 || this.sink.isCut === true;
  }

  add(bytes: Buffer): number {
    const count = Math.min(this.#left, bytes.length);
    if (count > 0) this.sink.add(bytes.subarray(0, count));
    this.#left -= count;
    return count;
  }
}

const LINE_LIMIT = 8 * 1024;
const TRAILERS_LIMIT = 64 * 1024;
const NEW_LINE = 0x0a;

/** A body in chunks: before each stands its length, and a chunk without bytes ends the body. */
class ChunkedBody extends FramedBody {
  #expects: "length" | "data" | "line end" | "trailer" | "nothing" = "length";
  #line = "";
  #left = 0;
  #trailerBytes = 0;

  get isComplete(): boolean {
    return this.#expects === "nothing" || this.endsConnection;
  }

  get endsConnection(): boolean {
    return this.sink.isCut === true;
  }

  add(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && !this.isComplete) {
      at += this.#expects === "data" ? this.#takeData(bytes.subarray(at)) : this.#takeLine(bytes.subarray(at));
    }
    return at;
  }

  #takeData(bytes: Buffer): number {
    const count = Math.min(this.#left, bytes.length);
    this.sink.add(bytes.subarray(0, count));
    this.#left -= count;
    if (this.#left === 0) this.#expects = "line end";
    return count;
  }

  #takeLine(bytes: Buffer): number {
    const end = bytes.indexOf(NEW_LINE);
    const count = end === -1 ? bytes.length : end + 1;
    this.#line += bytes.toString("latin1", 0, count);
    if (this.#line.length > LINE_LIMIT) throw malformed();
    if (end === -1) return count;
    const line = this.#line;
    this.#line = "";
    if (!line.endsWith("\r\n")) throw malformed();
    this.#endLine(line.slice(0, -2));
    return count;
  }

  #endLine(line: string): void {
    if (this.#expects === "length") {
      const [, digits] = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?$/.exec(line) ?? [];
      if (digits === undefined) throw malformed();
      this.#left = Number.parseInt(digits, 16);
      this.#expects = this.#left === 0 ? "trailer" : "data";
    } else if (this.#expects === "line end") {
      if (line !== "") throw malformed();
      this.#expects = "length";
    } else if (line === "") this.#expects = "nothing"; // the trailers before it say nothing that we need
    else if ((this.#trailerBytes += line.length) > TRAILERS_LIMIT) throw malformed();
  }
}

function malformed(): ObjectStoreError {
  return badResponse("has a malformed chunk");
}
