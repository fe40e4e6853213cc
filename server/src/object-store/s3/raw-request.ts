import type { Socket } from "node:net";

export interface RawRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | StreamedBody | null;
  /** Instead of the limits of the connection, for a store that is silent while it works. */
  readonly timeoutMs?: number | undefined;
}

/** A body that does not fit into memory. */
export interface StreamedBody {
  readonly bytes: number;
  /** Called for each attempt. */
  readonly contents: () => AsyncIterable<Buffer>;
}

/** Larger bodies are sent in pieces: the time limit starts again with each piece that the network takes. */
const PIECE_BYTES = 256 * 1024;

/** Writes one request to a socket. */
export class RequestWriter {
  readonly #socket: Socket;
  #isStopped = false;
  #isSending = false;
  #awaitsSource = false;
  #onWritable: () => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Whether a part of the body still has to be handed to the socket. */
  get isSending(): boolean {
    return this.#isSending;
  }

  /** Whether it waits for the source of the body. */
  get awaitsSource(): boolean {
    return this.#awaitsSource;
  }

  /** `onFailure`: called if the body cannot be read, or is not as long as announced. */
  write(request: RawRequest, onFailure: (error: Error) => void): void {
    const { body } = request;
    const head = headOf(request);
    if (!Buffer.isBuffer(body)) {
      this.#socket.write(head, "latin1");
      if (body !== null) this.#writePieces(body.contents(), body.bytes, onFailure);
    } else if (body.length > PIECE_BYTES) {
      this.#socket.write(head, "latin1");
      this.#writePieces(piecesOf(body), body.length, onFailure);
    } else {
      this.#socket.cork(); // both in one packet
      this.#socket.write(head, "latin1");
      if (body.length > 0) this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  /** Called when the socket can take more data. */
  resume(): void {
    this.#onWritable();
  }

  /** Called when the response has come, or the connection has failed. */
  stop(): void {
    this.#isStopped = true;
    this.#onWritable();
  }

  #writePieces(
    pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
    bytes: number,
    onFailure: (error: Error) => void,
  ): void {
    this.#isSending = bytes > 0;
    this.#writeAll(pieces, bytes).catch((error: unknown) => {
      if (!this.#isStopped) onFailure(error instanceof Error ? error : new Error(String(error)));
    });
  }

  async #writeAll(pieces: Iterable<Buffer> | AsyncIterable<Buffer>, bytes: number): Promise<void> {
    let left = bytes;
    this.#awaitsSource = left > 0;
    for await (const piece of pieces) {
      if (this.#isStopped) return;
      this.#awaitsSource = false;
      left -= piece.length;
      if (left < 0) break;
      this.#isSending = left > 0;
      if (!this.#socket.write(piece)) await new Promise<void>((resolve) => (this.#onWritable = resolve));
      if (this.#isStopped) return;
      this.#awaitsSource = left > 0;
    }
    if (left !== 0) throw new Error("the body of the request does not have the announced length");
  }
}

function headOf({ method, path, headers, body }: RawRequest): string {
  let head = `${method} ${checked(path)} HTTP/1.1\r\n`;
  for (const name in headers) head += `${name}: ${checked(headers[name] ?? "")}\r\n`;
  if (method === "PUT" || method === "POST") head += `content-length: ${lengthOf(body)}\r\n`;
  return `${head}\r\n`;
}

/** Always given: S3 does not accept a body in chunks. */
function lengthOf(body: RawRequest["body"]): number {
  return Buffer.isBuffer(body) ? body.length : (body?.bytes ?? 0);
}

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}

/** A line break would end the header and begin another. The socket writes only the lower byte of each character. */
function checked(text: string): string {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(text))
    throw new Error("a header must contain only printable characters of Latin-1");
  return text;
}
