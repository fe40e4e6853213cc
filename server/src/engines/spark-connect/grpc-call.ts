import { status, type ChannelInterface, type Metadata, type StatusObject } from "@grpc/grpc-js";

/** The status of a failed call. */
export class GrpcFailure extends Error {
  override readonly name = "GrpcFailure";
  readonly code: status;
  readonly metadata: Metadata | undefined;

  constructor(code: status, details: string, metadata?: Metadata) {
    super(details);
    this.code = code;
    this.metadata = metadata;
  }
}

export interface CallPlan {
  readonly path: string;
  readonly metadata: Metadata;
  readonly message: Uint8Array;
  /** Limits the whole call; undefined for a stream. */
  readonly deadlineMs?: number;
}

/**
 * A call with one request whose responses are read one by one: the next is requested when the last has been read. The
 * server thus waits for a slow reader, and at most one flow-control window is in flight. The streams of grpc-js would
 * buffer sixteen messages of any size.
 */
export class GrpcCall {
  readonly #call: ReturnType<ChannelInterface["createCall"]>;
  readonly #arrived: Uint8Array[] = [];
  #end: StatusObject | undefined;
  #wake: (() => void) | undefined;

  constructor(channel: ChannelInterface, { path, metadata, message, deadlineMs }: CallPlan) {
    const deadline = deadlineMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + deadlineMs;
    this.#call = channel.createCall(path, deadline, null, null, null);
    this.#call.start(metadata, {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (bytes: Uint8Array) => {
        this.#arrived.push(bytes);
        this.#wake?.();
      },
      onReceiveStatus: (end) => {
        this.#end = end;
        this.#wake?.();
      },
    });
    this.#call.sendMessageWithContext({}, Buffer.from(message.buffer, message.byteOffset, message.byteLength));
    this.#call.halfClose();
  }

  /** Undefined: the server ended the call without an error. */
  async next(silenceLimitMs?: number): Promise<Uint8Array | undefined> {
    if (this.#arrived.length === 0 && this.#end === undefined) {
      this.#call.startRead();
      await this.#wait(silenceLimitMs);
    }
    const bytes = this.#arrived.shift();
    if (bytes !== undefined) return bytes;
    const { code = status.UNAVAILABLE, details = "The server does not respond", metadata } = this.#end ?? {};
    if (code === status.OK) return undefined;
    throw new GrpcFailure(code, details, metadata);
  }

  /** Stops reading; the server may continue its work. */
  cancel(): void {
    if (this.#end === undefined) this.#call.cancelWithStatus(status.CANCELLED, "Cancelled by the reader");
  }

  async #wait(limitMs: number | undefined): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (limitMs !== undefined) timer = setTimeout(resolve, limitMs);
    });
    clearTimeout(timer);
    this.#wake = undefined;
  }
}
