import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { ByteSource } from "../../src/engines/hive-thrift/codec/byte-source.ts";
import { ThriftError } from "../../src/engines/hive-thrift/codec/thrift-type.ts";
import { readCall, renderReply, type CallHead } from "../../src/engines/hive-thrift/codec/message.ts";
import { setUgi } from "../../src/engines/hive-thrift/hive-functions.ts";

/** Handles a call that has arrived completely. */
export type AnswerCall = (socket: Socket, call: CallHead, connection: number) => void;

/** Listens like a metastore and accepts every handshake; the test decides the rest. */
export interface ThriftServer {
  readonly port: number;
  readonly calls: readonly string[];
  connections(): { made: number; open: number };
  /** Closes all open connections. */
  cutAll(): void;
  stop(): Promise<void>;
}

export async function startThriftServer(answer: AnswerCall): Promise<ThriftServer> {
  const open = new Set<Socket>();
  const calls: string[] = [];
  let made = 0;
  const server = createServer((socket) => {
    made += 1;
    const connection = made;
    open.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => open.delete(socket));
    serveCalls(socket, (call) => {
      if (call.name === setUgi.name) {
        socket.write(renderReply(setUgi, call.sequence, { success: ["somebody"] }));
      } else {
        calls.push(call.name);
        answer(socket, call, connection);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    calls,
    connections: () => ({ made, open: open.size }),
    cutAll: () => open.forEach((socket) => socket.resetAndDestroy()),
    async stop() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function serveCalls(socket: Socket, serve: (call: CallHead) => void): void {
  let source = new ByteSource(2 ** 30);
  let reading = readCall(source);
  socket.on("data", (chunk) => {
    source.push(chunk);
    const step = nextStep(reading);
    // A process of another test may have used this port before, and its clients still try it.
    if (step === undefined) return void socket.destroy();
    if (step.done !== true) return;
    source = new ByteSource(2 ** 30);
    reading = readCall(source);
    serve(step.value);
  });
}

/** Undefined: these bytes are no call. */
function nextStep(reading: ReturnType<typeof readCall>): ReturnType<typeof reading.next> | undefined {
  try {
    return reading.next();
  } catch (error) {
    if (error instanceof ThriftError) return undefined;
    throw error;
  }
}
