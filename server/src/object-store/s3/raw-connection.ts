import type { IncomingHttpHeaders } from "node:http";
import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { guardedLookup, type CheckAddress } from "../../lib/guarded-lookup.ts";
import { refusedAddress, type AgentLimits } from "../guarded-agent.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { bodyOf, tooLong, type ArrivingBody, type BodyRoom } from "./response-body.ts";
import { parseResponseHead, type ResponseHead } from "./response-head.ts";

export interface RawRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The beginning of the given memory, if memory was given and the request has succeeded. */
  readonly bytes: Buffer;
}

export interface RawConnectionOptions extends AgentLimits {
  readonly checkAddress: CheckAddress;
}

const HEAD_BYTES = 64 * 1024;
const IDLE_MS = 4_000;

/** A response that is being read. */
interface Reading {
  readonly method: string;
  readonly room: BodyRoom;
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** A connection of HTTP/1.1 with one request at a time. */
export class RawConnection {
  readonly #socket: Socket;
  readonly #limits: AgentLimits;
  readonly #received = Buffer.allocUnsafeSlow(HEAD_BYTES);
  /** How much of a head that is incomplete stands in `#received`. */
  #headBytes = 0;
  #head: ResponseHead | undefined;
  #body: ArrivingBody | undefined;
  /** Whether the socket writes into the body's own memory. */
  #isInRoom = false;
  #reading: Reading | undefined;
  #isReusable = true;

  constructor(origin: URL, { checkAddress, ...limits }: RawConnectionOptions) {
    this.#limits = limits;
    const host = origin.hostname.replace(/^\[(.*)\]$/, "$1");
    const onread: OnReadOpts = {
      buffer: () => this.#nextBuffer(),
      callback: (count) => this.#onRead(count),
    };
    const isTls = origin.protocol === "https:";
    const options = {
      host,
      port: Number(origin.port || (isTls ? 443 : 80)),
      lookup: guardedLookup(checkAddress, refusedAddress),
      onread,
    };
    const refusal = isIP(host) === 0 ? null : checkAddress(host);
    if (refusal !== null) throw refusedAddress(refusal);
    this.#socket = isTls ? connectTls({ ...options, servername: isIP(host) === 0 ? host : "" }) : connect(options);
    this.#socket.setNoDelay(true);
    this.#socket.setTimeout(limits.connectTimeoutMs);
    this.#socket.once(isTls ? "secureConnect" : "connect", () => this.#socket.setTimeout(limits.headersTimeoutMs));
    this.#socket.on("timeout", () => this.#onTimeout());
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#onClose());
  }

  get isReusable(): boolean {
    return this.#isReusable && !this.#socket.destroyed;
  }

  destroy(error?: Error): void {
    this.#fail(error ?? closedEarly());
    this.#socket.destroy();
  }

  send(request: RawRequest, room: BodyRoom): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      this.#reading = { method: request.method, room, resolve, reject };
      if (!this.#socket.connecting) this.#socket.setTimeout(this.#limits.headersTimeoutMs);
      this.#write(headOf(request), request.body);
    });
  }

  #write(head: string, body: Buffer | null): void {
    if (body === null || body.length === 0) {
      this.#socket.write(head, "latin1");
      return;
    }
    this.#socket.cork(); // both in one packet
    this.#socket.write(head, "latin1");
    this.#socket.write(body);
    this.#socket.uncork();
  }

  /** Called before each read of the socket. */
  #nextBuffer(): Buffer {
    const room = this.#body?.room();
    this.#isInRoom = room !== undefined;
    return room ?? this.#received.subarray(this.#headBytes);
  }

  #onRead(count: number): boolean {
    try {
      this.#receive(count);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
    return true;
  }

  #receive(count: number): void {
    if (this.#reading === undefined)
      throw new ObjectStoreError("bad-response", "the store sent bytes without a request");
    if (this.#isInRoom) this.#body?.filled(count);
    else {
      const received = this.#received.subarray(0, this.#headBytes + count);
      const rest = this.#body === undefined ? this.#readHead(received, this.#reading) : received;
      const taken = this.#body?.add(rest) ?? 0;
      if (taken < rest.length && this.#body?.endsConnection !== true) throw tooLong(this.#body?.bytes.length ?? 0);
    }
    if (this.#body?.isComplete === true) this.#finish();
  }

  /** Returns the bytes after the head. None: the head may be incomplete. */
  #readHead(received: Buffer, { method, room }: Reading): Buffer {
    for (let start = 0; ;) {
      const end = received.indexOf("\r\n\r\n", start);
      if (end === -1) {
        if (received.length === HEAD_BYTES)
          throw new ObjectStoreError("bad-response", "the head of the answer is too large");
        this.#headBytes = received.length;
        return received.subarray(received.length);
      }
      const head = parseResponseHead(received.toString("latin1", start, end));
      start = end + 4;
      if (head.status < 200) continue; // the answer itself comes later
      this.#head = head;
      this.#headBytes = 0;
      this.#body = bodyOf(head, method, room);
      this.#socket.setTimeout(this.#limits.bodyIdleTimeoutMs);
      return received.subarray(start);
    }
  }

  #finish(): void {
    const [head, body, reading] = [this.#head, this.#body, this.#reading];
    if (head === undefined || body === undefined || reading === undefined) return;
    this.#reading = undefined;
    this.#head = undefined;
    this.#body = undefined;
    this.#isReusable = head.isKeptAlive && !body.endsConnection;
    this.#socket.setTimeout(IDLE_MS);
    reading.resolve({ status: head.status, headers: head.headers, bytes: body.bytes });
  }

  #onTimeout(): void {
    const code = this.#socket.connecting ? "UND_ERR_CONNECT_TIMEOUT" : "UND_ERR_HEADERS_TIMEOUT";
    this.destroy(Object.assign(new Error("the object store is silent"), { code }));
  }

  #onClose(): void {
    if (this.#body?.endsConnection === true) this.#finish();
    this.#fail(closedEarly());
  }

  #fail(error: Error): void {
    this.#isReusable = false;
    const reading = this.#reading;
    this.#reading = undefined;
    reading?.reject(error);
  }
}

function headOf({ method, path, headers, body }: RawRequest): string {
  let head = `${method} ${checked(path)} HTTP/1.1\r\n`;
  for (const name in headers) head += `${name}: ${checked(headers[name] ?? "")}\r\n`;
  if (method === "PUT" || method === "POST") head += `content-length: ${body?.length ?? 0}\r\n`;
  return `${head}\r\n`;
}

function closedEarly(): Error {
  return Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
}

/** A line break would end the header and begin another. */
function checked(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new Error("a header must not contain line breaks");
  return text;
}
