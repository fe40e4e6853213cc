import { ByteSink, writeValue } from "./write-value.ts";
import type { ByteSource, Reading } from "./byte-source.ts";
import { readInt32, readText, readValue } from "./read-value.ts";
import {
  ThriftError,
  i32,
  optional,
  string,
  struct,
  type Fields,
  type StructType,
  type ThriftValue,
} from "./thrift-type.ts";

/** A function in the strict binary protocol. A connection has one call at a time. */
export interface Signature<A extends Fields = Fields, R extends Fields = Fields> {
  readonly name: string;
  readonly parameters: StructType<A>;
  /** Field 0 is the returned value; the others are the declared exceptions. */
  readonly outcome: StructType<R>;
}

/** The server did not run the function (TApplicationException). */
export class CallRefused extends Error {
  override readonly name = "CallRefused";
  readonly isUnknownFunction: boolean;

  constructor(message: string, type: number | undefined) {
    super(message);
    this.isUnknownFunction = type === 1;
  }
}

const version = 0x8001;
const messageType = { call: 1, reply: 2, exception: 3 } as const;
const maxNameBytes = 256;

const refusal = struct({ message: optional(1, string), type: optional(2, i32) });

export function renderCall<A extends Fields>(
  { name, parameters }: Pick<Signature<A>, "name" | "parameters">,
  sequence: number,
  values: ThriftValue<StructType<A>>,
): Buffer {
  const sink = new ByteSink();
  writeHead(sink, messageType.call, name, sequence);
  writeValue(sink, parameters, values);
  return sink.written;
}

export interface CallHead {
  readonly name: string;
  readonly sequence: number;
}

/** For test servers, like `renderReply`. Skips the parameters. */
export function* readCall(source: ByteSource): Reading<CallHead> {
  const head = yield* readInt32(source);
  if (head >>> 16 !== version || (head & 0xff) !== messageType.call) throw new ThriftError("the message is not a call");
  const name = yield* readText(source, maxNameBytes);
  const sequence = yield* readInt32(source);
  yield* readValue(source, struct({}));
  return { name, sequence };
}

export function renderReply<R extends Fields>(
  { name, outcome }: Pick<Signature<Fields, R>, "name" | "outcome">,
  sequence: number,
  values: ThriftValue<StructType<R>>,
): Buffer {
  const sink = new ByteSink();
  writeHead(sink, messageType.reply, name, sequence);
  writeValue(sink, outcome, values);
  return sink.written;
}

export function* readReply<R extends Fields>(
  source: ByteSource,
  { name, outcome }: Pick<Signature<Fields, R>, "name" | "outcome">,
  sequence: number,
): Reading<ThriftValue<StructType<R>>> {
  const head = yield* readInt32(source);
  if (head >>> 16 !== version) throw new ThriftError("the answer is not Thrift's binary protocol");
  const answered = yield* readText(source, maxNameBytes);
  const answeredSequence = yield* readInt32(source);
  if (answered !== name || answeredSequence !== sequence) throw new ThriftError("the answer belongs to another call");
  const type = head & 0xff;
  if (type === messageType.exception) {
    const { message, type: reason } = yield* readValue(source, refusal);
    throw new CallRefused(message ?? "", reason);
  }
  if (type !== messageType.reply) throw new ThriftError("the message is not an answer");
  return yield* readValue(source, outcome);
}

function writeHead(sink: ByteSink, type: number, name: string, sequence: number): void {
  sink.int32((version << 16) | type);
  sink.text(name);
  sink.int32(sequence);
}
