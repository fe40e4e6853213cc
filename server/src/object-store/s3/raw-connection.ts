import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { guardedLookup, type CheckAddress } from "../../lib/guarded-lookup.ts";
import { refusedAddress, type AgentLimits } from "../guarded-agent.ts";
import { bodyOf, BodyStream, isSuccess, tooLong, type ArrivingBody, type BodyRoom } from "./response-body.ts";
import { RequestWriter, type RawRequest } from "./raw-request.ts";
import { badResponse, parseResponseHead, type ResponseHead, type ResponseHeaders } from "./response-head.ts";

export interface RawAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The beginning of the given memory, if memory was given and the request has succeeded. */
  readonly bytes: Buffer;
  /** The body of a success, if a stream was requested. It must be read or destroyed. */
  readonly stream: BodyStream | null;
}

export interface RawConnectionOptions extends AgentLimits {
  readonly checkAddress: CheckAddress;
}

const HEAD_BYTES = 64 * 1024;
const HEAD_END = "\r\n\r\n";
/** Informational responses before a response. */
const MAX_INFORMATIONAL = 16;
const IDLE_MS = 4_000;

/** A response that is being read. */
interface Reading {
  readonly request: RawRequest;
  readonly room: BodyRoom | "stream";
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** A connection of HTTP/1.1 with one request at a time. */
export class RawConnection {
  readonly #socket: Socket;
  readonly #limits: AgentLimits;
  readonly #received = Buffer.allocUnsafeSlow(HEAD_BYTES);
  /** How many bytes of an incomplete head are in `#received`. */
  #headBytes = 0;
  /** When a head that has begun must be complete. Zero: none has begun. */
  #headEndsBy = 0;
  #informationalCount = 0;
  #head: ResponseHead | undefined;
  #body: ArrivingBody | undefined;
  #stream: BodyStream | null = null;
  /** Whether the socket writes into the body's own memory. */
  #isInRoom = false;
  #reading: Reading | undefined;
  #writer: RequestWriter | undefined;
  #isReusable = true;
  #isConnected = false;
  #isPaused = false;

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
    this.#socket.once(isTls ? "secureConnect" : "connect", () => this.#onConnected());
    this.#socket.on("drain", () => this.#writer?.resume());
    this.#socket.on("timeout", () => this.#onTimeout());
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#onClose());
  }

  /** False also until the response has been read to its end. */
  get isReusable(): boolean {
    return this.#isReusable && this.#reading === undefined && !this.#socket.destroyed;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  destroy(error?: Error): void {
    this.#fail(error ?? closedEarly());
    this.#socket.destroy();
  }

  send(request: RawRequest, room: BodyRoom | "stream"): Promise<RawAnswer> {
    this.#headEndsBy = this.#informationalCount = 0;
    return new Promise((resolve, reject) => {
      this.#reading = { request, room, resolve, reject };
      if (this.#isConnected) this.#socket.setTimeout(request.timeoutMs ?? this.#limits.headersTimeoutMs);
      this.#writer = new RequestWriter(this.#socket);
      this.#writer.write(request, (error) => this.destroy(error));
    });
  }

  #onConnected(): void {
    this.#isConnected = true;
    this.#socket.setTimeout(this.#reading?.request.timeoutMs ?? this.#limits.headersTimeoutMs);
  }

  /** Called after each read of the socket, and once at the start. */
  #nextBuffer(): Buffer {
    const room = this.#body?.room?.();
    this.#isInRoom = room !== undefined;
    return room ?? this.#received.subarray(this.#headBytes);
  }

  /** Returns whether the socket should read on. */
  #onRead(count: number): boolean {
    try {
      this.#receive(count);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
    if (this.#stream?.isFull !== true) return true;
    this.#isPaused = true; // until its reader wants more
    this.#socket.setTimeout(0);
    return false;
  }

  #receive(count: number): void {
    if (this.#reading === undefined) throw badResponse("comes without a request");
    if (this.#isInRoom) this.#body?.filled?.(count);
    else {
      const received = this.#received.subarray(0, this.#headBytes + count);
      const rest = this.#body === undefined ? this.#readHead(received, this.#reading) : received;
      const taken = this.#body?.add(rest) ?? 0;
      if (taken < rest.length && this.#body?.endsConnection !== true) throw tooLong(this.#body?.bytes.length ?? 0);
    }
    if (this.#body?.isComplete === true) this.#finish();
  }

  /** Returns the bytes after the head. None: the head may be incomplete. */
  #readHead(received: Buffer, reading: Reading): Buffer {
    let start = 0;
    let end = received.indexOf(HEAD_END, Math.max(0, this.#headBytes - HEAD_END.length + 1));
    for (; end !== -1; end = received.indexOf(HEAD_END, start)) {
      const head = parseResponseHead(received.toString("latin1", start, end));
      start = end + HEAD_END.length;
      if (head.status >= 200) {
        this.#headBytes = 0;
        this.#beginBody(head, reading);
        return received.subarray(start);
      }
      this.#headEndsBy = 0; // the answer itself comes later
      this.#informationalCount += 1;
      if (this.#informationalCount > MAX_INFORMATIONAL) throw badResponse("comes after too many informational ones");
    }
    this.#headBytes = received.length - start;
    if (this.#headBytes === HEAD_BYTES) throw badResponse("has a head that is too large");
    received.copyWithin(0, start);
    this.#limitHead(reading.request);
    return received.subarray(received.length);
  }

  /** The limit of a head starts with its first byte, and the bytes after it do not start it again. */
  #limitHead({ timeoutMs = this.#limits.headersTimeoutMs }: RawRequest): void {
    const now = performance.now();
    const endsBy = this.#headEndsBy === 0 ? now + timeoutMs : this.#headEndsBy;
    this.#headEndsBy = this.#headBytes === 0 ? 0 : endsBy;
    // Checked here, too, because bytes that follow one another quickly would start the timer again before it ends.
    if (now > endsBy) throw timeoutError("HEADERS");
    this.#socket.setTimeout(Math.max(1, endsBy - now));
  }

  #beginBody(head: ResponseHead, { request, room, resolve }: Reading): void {
    this.#head = head;
    this.#socket.setTimeout(request.timeoutMs ?? this.#limits.bodyIdleTimeoutMs);
    if (room !== "stream" || !isSuccess(head.status)) {
      this.#body = bodyOf(head, request.method, room === "stream" ? 0 : room);
      return;
    }
    const stream = new BodyStream(() => this.#readOn());
    this.#stream = stream;
    this.#body = bodyOf(head, request.method, stream);
    const end = (): unknown => stream.push(null);
    this.#reading = { request, room, resolve: end, reject: (error) => stream.destroy(error) };
    resolve({ status: head.status, headers: head.headers, bytes: this.#body.bytes, stream });
  }

  #readOn(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.setTimeout(this.#limits.bodyIdleTimeoutMs);
    this.#socket.resume();
  }

  #finish(): void {
    const [head, body, reading] = [this.#head, this.#body, this.#reading];
    if (head === undefined || body === undefined || reading === undefined) return;
    this.#reading = undefined;
    this.#head = undefined;
    this.#body = undefined;
    this.#stream = null;
    const isSent = this.#writer?.isSending !== true && this.#socket.writableLength === 0; // some errors come before that
    this.#isReusable = head.isKeptAlive && !body.endsConnection && isSent;
    this.#writer?.stop();
    this.#socket.setTimeout(IDLE_MS);
    reading.resolve({ status: head.status, headers: head.headers, bytes: body.bytes, stream: null });
  }

  #onTimeout(): void {
    // The store is not to blame. The next write starts the limit again.
    if (this.#writer?.awaitsSource === true && this.#isConnected && this.#body === undefined) return;
    this.destroy(timeoutError(!this.#isConnected ? "CONNECT" : this.#body === undefined ? "HEADERS" : "BODY"));
  }

  #onClose(): void {
    if (this.#body?.endsConnection === true) this.#finish();
    this.#fail(closedEarly());
  }

  #fail(error: Error): void {
    this.#isReusable = false;
    const reading = this.#reading;
    this.#reading = undefined;
    this.#writer?.stop();
    reading?.reject(error);
  }
}

function closedEarly(): Error {
  return Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
}

function timeoutError(phase: "CONNECT" | "HEADERS" | "BODY"): Error {
  return Object.assign(new Error("the object store did not respond in time"), { code: `UND_ERR_${phase}_TIMEOUT` });
}
