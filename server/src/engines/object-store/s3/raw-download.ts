import type { IncomingHttpHeaders } from "node:http";
import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { guardedLookup, type CheckAddress } from "../../../lib/guarded-lookup.ts";
import { refusedAddress, type AgentLimits } from "../guarded-agent.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { ERROR_LIMIT_BYTES } from "./collect-response.ts";
import { parseResponseHead, type ResponseHead } from "./response-head.ts";

export interface DownloadRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DownloadedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The given buffer or its beginning; another buffer for errors. */
  readonly bytes: Buffer;
}

export interface DownloaderOptions extends AgentLimits {
  readonly checkAddress: CheckAddress;
}

/** The response has no length, or is a large error, so a general client must read it. */
export class LengthMissing extends Error {}

const HEAD_BYTES = 64 * 1024;
const IDLE_MS = 4_000;

/**
 * Reads large responses straight into the caller's memory: the system copies each piece from the socket to its place. A
 * general client copies it twice more, which takes most of its time. Each connection has one request at a time.
 */
export class Downloader {
  readonly #options: DownloaderOptions;
  readonly #idle = new Map<string, DownloadConnection[]>();
  readonly #open = new Set<DownloadConnection>();
  #isClosed = false;

  constructor(options: DownloaderOptions) {
    this.#options = options;
  }

  async get(request: DownloadRequest, into: Buffer, signal: AbortSignal | undefined): Promise<DownloadedAnswer> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Error("the object store is closed");
    const connection = this.#takeIdle(request.origin) ?? this.#connect(request.origin);
    const abort = (): void => connection.destroy(signal?.reason as Error); // whatever the caller has given
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const answer = await connection.get(request, into);
      if (connection.isReusable && !this.#isClosed) this.#keep(request.origin, connection);
      else connection.destroy();
      return answer;
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Ends idle connections now, and the others when their responses end. */
  close(): void {
    this.#isClosed = true;
    for (const idle of this.#idle.values()) for (const connection of idle) connection.destroy();
    this.#idle.clear();
  }

  #takeIdle(origin: string): DownloadConnection | undefined {
    const idle = this.#idle.get(origin) ?? [];
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.isReusable) return connection;
    }
    return undefined;
  }

  #keep(origin: string, connection: DownloadConnection): void {
    const idle = this.#idle.get(origin) ?? [];
    idle.push(connection);
    this.#idle.set(origin, idle);
  }

  #connect(origin: string): DownloadConnection {
    const connection = new DownloadConnection(new URL(origin), this.#options);
    this.#open.add(connection);
    connection.whenClosed(() => this.#open.delete(connection));
    return connection;
  }
}

/** A response that is being read. */
interface Reading {
  readonly into: Buffer;
  readonly resolve: (answer: DownloadedAnswer) => void;
  readonly reject: (error: Error) => void;
}

class DownloadConnection {
  readonly #socket: Socket;
  readonly #limits: AgentLimits;
  readonly #head = Buffer.allocUnsafeSlow(HEAD_BYTES);
  #headBytes = 0;
  #parsed: ResponseHead | undefined;
  /** Where the body goes, and how much of it has arrived. */
  #body: Buffer | undefined;
  #bodyBytes = 0;
  #reading: Reading | undefined;
  #isReusable = true;

  constructor(origin: URL, { checkAddress, ...limits }: DownloaderOptions) {
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
    this.#socket.on("close", () => this.#fail(closedEarly()));
  }

  get isReusable(): boolean {
    return this.#isReusable && !this.#socket.destroyed;
  }

  whenClosed(listener: () => void): void {
    this.#socket.once("close", listener);
  }

  destroy(error?: Error): void {
    this.#fail(error ?? closedEarly());
    this.#socket.destroy();
  }

  get({ path, headers }: DownloadRequest, into: Buffer): Promise<DownloadedAnswer> {
    return new Promise((resolve, reject) => {
      this.#reading = { into, resolve, reject };
      this.#headBytes = 0;
      this.#parsed = undefined;
      this.#body = undefined;
      this.#bodyBytes = 0;
      if (!this.#socket.connecting) this.#socket.setTimeout(this.#limits.headersTimeoutMs);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${checked(value)}\r\n`);
      this.#socket.write(`GET ${checked(path)} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1");
    });
  }

  /** Called before each read of the socket. */
  #nextBuffer(): Buffer {
    const body = this.#body;
    if (body !== undefined && this.#bodyBytes < body.length) return body.subarray(this.#bodyBytes);
    return this.#head.subarray(this.#headBytes < HEAD_BYTES ? this.#headBytes : 0);
  }

  #onRead(count: number): boolean {
    try {
      if (this.#reading === undefined)
        throw new ObjectStoreError("bad-response", "the store sent bytes without a request");
      if (this.#body === undefined) this.#onHead(count);
      else this.#onBody(count);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
    return true;
  }

  #onHead(count: number): void {
    this.#headBytes += count;
    const received = this.#head.subarray(0, this.#headBytes);
    const end = received.indexOf("\r\n\r\n");
    if (end === -1) {
      if (this.#headBytes === HEAD_BYTES)
        throw new ObjectStoreError("bad-response", "the head of the answer is too large");
      return;
    }
    const parsed = parseResponseHead(received.toString("latin1", 0, end));
    this.#parsed = parsed;
    const { into } = this.#reading ?? {};
    const isSuccess = parsed.status >= 200 && parsed.status < 300;
    if (parsed.length === null || parsed.status < 200 || into === undefined) throw new LengthMissing();
    if (!isSuccess && parsed.length > ERROR_LIMIT_BYTES) throw new LengthMissing();
    if (isSuccess && parsed.length > into.length) throw tooLong(into.length);
    this.#body = isSuccess ? into.subarray(0, parsed.length) : Buffer.alloc(parsed.length);
    this.#socket.setTimeout(this.#limits.bodyIdleTimeoutMs);
    const begun = received.subarray(end + 4);
    if (begun.length > parsed.length) throw tooLong(parsed.length);
    begun.copy(this.#body);
    this.#onBody(begun.length);
  }

  #onBody(count: number): void {
    const [body, parsed, reading] = [this.#body, this.#parsed, this.#reading];
    this.#bodyBytes += count;
    if (body === undefined || parsed === undefined || reading === undefined || this.#bodyBytes < body.length) return;
    this.#reading = undefined;
    this.#isReusable = parsed.isKeptAlive;
    this.#headBytes = 0;
    this.#socket.setTimeout(IDLE_MS);
    reading.resolve({ status: parsed.status, headers: parsed.headers, bytes: body });
  }

  #onTimeout(): void {
    const code = this.#socket.connecting ? "UND_ERR_CONNECT_TIMEOUT" : "UND_ERR_HEADERS_TIMEOUT";
    this.destroy(Object.assign(new Error("the object store is silent"), { code }));
  }

  #fail(error: Error): void {
    this.#isReusable = false;
    const reading = this.#reading;
    this.#reading = undefined;
    reading?.reject(error);
  }
}

function tooLong(bytes: number): ObjectStoreError {
  return new ObjectStoreError("bad-response", `the answer is larger than ${bytes} bytes`);
}

function closedEarly(): Error {
  return Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
}

/** A line break would end the header and begin another. */
function checked(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new Error("a header must not contain line breaks");
  return text;
}
