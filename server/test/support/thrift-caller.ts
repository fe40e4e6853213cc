import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { renderGreeting } from "../../src/engines/hive-metastore/greeting.ts";

/** Speaks to a metastore as far as tests need it: Thrift's binary protocol, answers as they come. */
export interface ThriftCaller {
  /** Settles with the bytes of the answer; with none when the other side has closed. */
  call(method: string, argument?: Buffer): Promise<Buffer>;
  greet(secret: string): Promise<Buffer>;
  send(bytes: Buffer): Promise<Buffer>;
  close(): void;
}

export async function openThriftCaller(port: number): Promise<ThriftCaller> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => undefined); // a reset is an end, too
  await once(socket, "connect");
  const send = async (bytes: Buffer): Promise<Buffer> => {
    socket.write(bytes);
    return nextChunk(socket);
  };
  return {
    send,
    greet: (secret) => send(renderGreeting("account1", secret)),
    call: (method, argument = struct({})) =>
      send(Buffer.concat([int32(0x80010001 - 2 ** 32), text(method), int32(0), argument])),
    close: () => socket.destroy(),
  };
}

function nextChunk(socket: Socket): Promise<Buffer> {
  return new Promise((settle) => {
    const end = (): void => settle(Buffer.alloc(0));
    if (socket.closed) return end();
    socket.once("close", end);
    socket.once("data", (chunk: Buffer) => {
      socket.off("close", end);
      settle(chunk);
    });
    return undefined;
  });
}

type Value = string | boolean | readonly Buffer[] | Readonly<Record<string, string>> | Buffer;

/** Fields by number. A list holds structs, a record is a map of texts, a buffer is a struct. */
export function struct(fields: Readonly<Record<number, Value>>): Buffer {
  const parts = Object.entries(fields).map(([id, value]) => {
    const [type, bytes] = encode(value);
    return Buffer.concat([Buffer.of(type, 0, Number(id)), bytes]);
  });
  return Buffer.concat([...parts, Buffer.of(0)]);
}

function encode(value: Value): [number, Buffer] {
  if (typeof value === "string") return [11, text(value)];
  if (typeof value === "boolean") return [2, Buffer.of(value ? 1 : 0)];
  if (Buffer.isBuffer(value)) return [12, value];
  if (Array.isArray(value)) return [15, Buffer.concat([Buffer.of(12), int32(value.length), ...(value as Buffer[])])]; // the only arrays there are
  const entries = Object.entries(value as Record<string, string>); // what is left
  return [
    13,
    Buffer.concat([Buffer.of(11, 11), int32(entries.length), ...entries.flatMap(([k, v]) => [text(k), text(v)])]),
  ];
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([int32(bytes.length), bytes]);
}
