import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { Fault } from "../../lib/fault.ts";
import { guardedLookup, type CheckAddress } from "../../lib/guarded-lookup.ts";
import type { Secret } from "../../lib/secret.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { ByteSource, type Reading } from "./codec/byte-source.ts";
import { CallRefused, readReply, renderCall } from "./codec/message.ts";
import { ThriftError, type Fields, type ThriftType } from "./codec/thrift-type.ts";
import { HiveError } from "./hive-error.ts";
import { resultOf, type HiveFunction, type ParametersOf, type ResultOf } from "./hive-functions.ts";
import { proveSecret } from "./shared-secret.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
  /** Checks every address before a connection to it. */
  readonly checkAddress: CheckAddress;
}

/** The metastore or the network closed the connection. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  /** Whether no byte of the answer had arrived. */
  readonly isUnanswered: boolean;

  constructor(isUnanswered: boolean, cause: unknown) {
    super("the connection was lost", { cause });
    this.isUnanswered = isUnanswered;
  }
}

export interface CallLimits {
  readonly signal: AbortSignal;
  readonly budgetBytes: number;
  readonly pay?: ((bytes: number) => void) | undefined;
}

interface PendingCall {
  readonly source: ByteSource;
  readonly reading: Reading<Readonly<Record<string, unknown>>>;
  readonly settled: PromiseWithResolvers<Readonly<Record<string, unknown>>>;
  isUnanswered: boolean;
}

/** A connection for one call at a time. It is unusable after any failure except an error that the metastore returned. */
export class Connection {
  readonly #socket: Socket;
  /** Undefined if messages are not framed. */
  readonly #frames: FrameReader | undefined;
  #sequence = 0;
  #current: PendingCall | undefined;
  #isBroken = false;

  /** With a secret (our own metastores), both sides first prove that they know it. */
  static async open({ host, port, checkAddress }: Address, signal: AbortSignal, secret?: Secret): Promise<Connection> {
    const refusal = isIP(host) === 0 ? null : checkAddress(host);
    if (refusal !== null) throw refused(refusal);
    signal.throwIfAborted();
    const socket = connect({ host, port, lookup: guardedLookup(checkAddress, refused), noDelay: true });
    try {
      await unlessAborted(signal, once(socket, "connect"));
      if (secret !== undefined) await proveSecret(socket, secret, signal);
    } catch (error) {
      socket.on("error", () => undefined);
      socket.destroy();
      throw error;
    }
    return new Connection(socket, secret === undefined ? undefined : new FrameReader());
  }

  private constructor(socket: Socket, frames: FrameReader | undefined) {
    this.#socket = socket;
    this.#frames = frames;
    socket.on("data", (chunk) => {
      for (const content of this.#frames?.contents(chunk) ?? [chunk]) this.#take(content);
    });
    socket.on("error", (error) => this.#break(this.#lost(error)));
    socket.on("close", () => this.#break(this.#lost(undefined)));
  }

  get isUsable(): boolean {
    return !this.#isBroken && this.#current === undefined;
  }

  /** Whether the connection keeps the process running. */
  keepAlive(isNeeded: boolean): void {
    if (isNeeded) this.#socket.ref();
    else this.#socket.unref();
  }

  destroy(): void {
    this.#isBroken = true;
    this.#socket.destroy();
  }

  async call<A extends Fields, T extends ThriftType | null>(
    called: HiveFunction<A, T>,
    values: ParametersOf<A>,
    { signal, budgetBytes, pay }: CallLimits,
  ): Promise<ResultOf<T>> {
    if (!this.isUsable) throw new ConnectionLost(true, undefined);
    this.#sequence += 1;
    const source = new ByteSource(budgetBytes, pay);
    const reading = readReply(source, called, this.#sequence);
    const settled = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    this.#current = { source, reading, settled, isUnanswered: true };
    const abort = (): void => this.#break(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    try {
      if (!this.#isBroken) {
        const message = renderCall(called, this.#sequence, values);
        this.#socket.write(this.#frames === undefined ? message : frame(message));
      }
      return resultOf(called, await settled.promise);
    } catch (error) {
      if (!(error instanceof CallRefused)) throw error;
      throw new HiveError(error.isUnknownFunction ? "unknown-function" : "failed", called.name, error.message);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #take(chunk: Buffer): void {
    const current = this.#current;
    if (current === undefined) {
      this.#break(new ThriftError("it sent data without a request"));
      return;
    }
    current.isUnanswered = false;
    current.source.push(chunk);
    try {
      const step = current.reading.next();
      if (step.done === true) this.#finish(current, () => current.settled.resolve(step.value));
    } catch (error) {
      if (error instanceof CallRefused) this.#finish(current, () => current.settled.reject(error));
      else this.#break(error);
    }
  }

  #finish({ source }: PendingCall, settle: () => void): void {
    if (source.isEmpty) {
      this.#current = undefined;
      settle();
    } else {
      this.#break(new ThriftError("it sent data after the end of the answer"));
    }
  }

  #break(reason: unknown): void {
    const current = this.#current;
    this.#current = undefined;
    this.destroy();
    current?.settled.reject(reason);
  }

  #lost(cause: unknown): ConnectionLost {
    return new ConnectionLost(this.#current?.isUnanswered ?? true, cause);
  }
}

function refused(refusal: string): Fault {
  return new Fault("invalid", `the address of the Hive metastore ${refusal}`);
}

/** After SASL, Thrift's messages are framed: each has its length before it. */
const HEAD_BYTES = 4;

function frame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(message.length);
  return Buffer.concat([head, message]);
}

class FrameReader {
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
