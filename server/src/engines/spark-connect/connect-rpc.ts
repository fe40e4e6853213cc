import { isIP } from "node:net";
import {
  create,
  toBinary,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  type DescMethod,
} from "@bufbuild/protobuf";
import { credentials, Channel, Metadata } from "@grpc/grpc-js";
import type { Secret } from "../../lib/secret.ts";
import { ConnectError } from "./connect-error.ts";
import { asConnectError } from "./failed-call.ts";
import { GrpcCall } from "./grpc-call.ts";
import { PinnedSocket } from "./pinned-socket.ts";
import { readMessage } from "./read-message.ts";
import { ReadingPace } from "./reading-pace.ts";

export interface ConnectAddress {
  readonly host: string;
  /** The resolved IP address of the host. The name is then not resolved again, only sent to the server. */
  readonly address?: string | undefined;
  readonly port: number;
  /**
   * A Unix socket of the server, used instead of the port. Unlike a port, no other account can take it over when the
   * server has died.
   */
  readonly socket?: string | undefined;
  /** Undefined for a server without authentication. */
  readonly token?: Secret | undefined;
  readonly tls?: boolean;
}

/** A method of the service with the types of request and response. */
export interface Method<I extends DescMessage, O extends DescMessage> extends DescMethod {
  readonly input: I;
  readonly output: O;
}

export interface MessageStream<O extends DescMessage> {
  /** Undefined: the server ended the stream without an error. */
  next(silenceLimitMs?: number): Promise<MessageShape<O> | undefined>;
  cancel(): void;
}

const MIB = 1024 * 1024;
/**
 * Parts of a result have 2 MiB. Servers before 4.1 send whole batches, of up to 4 MiB or of a single row. Messages without
 * rows have much less (`read-message.ts`). gRPC joins the pieces of a message in one step, which delays all other requests.
 */
const MAX_MESSAGE_BYTES = 8 * MIB;
const UNARY_LIMIT_MS = 30_000;

const channelOptions = {
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  "grpc.max_send_message_length": -1,
  // Our own code decides what is retried and for how long.
  "grpc.enable_retries": 0,
  "grpc.initial_reconnect_backoff_ms": 50,
  "grpc.min_reconnect_backoff_ms": 50,
  "grpc.max_reconnect_backoff_ms": 1000,
  // The proxy of the environment is not for internal servers.
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
  // One connection per channel, so that a failure of one does not affect another.
  "grpc.use_local_subchannel_pool": 1,
  "grpc-node.flow_control_window": MIB,
  "grpc.primary_user_agent": "headgate",
};

/** Typed calls over one connection, which is opened when first needed and reopened when it broke. */
export class ConnectRpc {
  readonly #channel: Channel;
  readonly #socket: PinnedSocket | undefined;
  readonly #token: Secret | undefined;
  readonly #pace = new ReadingPace();

  /** Fails with a `ConnectError` if the server's socket is missing. */
  constructor(server: ConnectAddress) {
    const { host, port, token, tls = false } = server;
    const security = tls ? credentials.createSsl() : credentials.createInsecure();
    const authority = `${bracketed(host)}:${port}`;
    const named = { ...channelOptions, "grpc.default_authority": authority, "grpc.ssl_target_name_override": host };
    this.#socket = server.socket === undefined ? undefined : new PinnedSocket(server.socket);
    this.#channel = new Channel(this.#socket?.grpcTarget ?? targetOf(server, authority), security, named);
    this.#token = token;
  }

  /** Fails with a `ConnectError`. */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageInitShape<I>,
    limitMs = UNARY_LIMIT_MS,
  ): Promise<MessageShape<O>> {
    const call = this.#call(method, request, {}, limitMs);
    try {
      const reply = await translated(call.next());
      // The status after the reply may be an error too.
      if (reply === undefined || (await translated(call.next())) !== undefined) throw unexpectedReply(method.name);
      return this.#read(method.output, reply);
    } finally {
      call.cancel();
    }
  }

  /** Reading its messages fails with a `ConnectError`. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageInitShape<I>,
    headers: Readonly<Record<string, string>> = {},
  ): MessageStream<O> {
    const call = this.#call(method, request, headers);
    const cancelled = new AbortController();
    return {
      next: async (silenceLimitMs) => {
        const bytes = await translated(call.next(silenceLimitMs));
        if (bytes === undefined) return undefined;
        const message = this.#read(method.output, bytes);
        await this.#pace.giveWay(cancelled.signal);
        return message;
      },
      cancel: () => {
        cancelled.abort();
        call.cancel();
      },
    };
  }

  close(): void {
    this.#channel.close();
    this.#socket?.close();
  }

  #read<M extends DescMessage>(type: M, bytes: Uint8Array): MessageShape<M> {
    const { message, cost } = readMessage(type, bytes);
    this.#pace.count(cost);
    return message;
  }

  #call<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageInitShape<I>,
    headers: Readonly<Record<string, string>>,
    deadlineMs?: number,
  ): GrpcCall {
    const metadata = new Metadata();
    if (this.#token !== undefined) metadata.set("authorization", `Bearer ${this.#token.reveal()}`);
    for (const [name, value] of Object.entries(headers)) {
      metadata.set(name, name.endsWith("-bin") ? Buffer.from(value) : value);
    }
    return new GrpcCall(this.#channel, {
      path: `/${method.parent.typeName}/${method.name}`,
      metadata,
      message: toBinary(method.input, create(method.input, request)),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    });
  }
}

async function translated<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asConnectError(error) ?? error;
  }
}

function unexpectedReply(method: string): ConnectError {
  const message = `The server did not answer ${method} with exactly one message`;
  return new ConnectError({ kind: "unavailable", message, code: 13 });
}

function targetOf({ address, port }: ConnectAddress, authority: string): string {
  return address === undefined ? authority : `ipv${isIP(address)}:${bracketed(address)}:${port}`;
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
