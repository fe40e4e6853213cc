/**
 * A Spark Connect server whose messages are made to stop the client: `node hostile-connect-main.ts`. It prints
 * `ready PORT`. A query is the name of the message that it gets (`hostile-messages.ts`), or of one of the `streams` below.
 * A client with a token gets the message of that name in reply to its other calls, which are harmless otherwise.
 *
 * It is a process of its own, so that only the client's event loop is measured, and plain HTTP/2, because a library for
 * gRPC servers sends neither broken nor compressed messages.
 */
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { fromBinary } from "@bufbuild/protobuf";
import { ExecutePlanRequestSchema, type ExecutePlanRequest } from "../../src/engines/spark-connect/messages/base_pb.ts";
import { emptyMessages, errorTrailers, hostileMessages, trailers } from "./hostile-messages.ts";

const FRAME_HEAD = 5;
const EMPTY_FRAME = Buffer.alloc(FRAME_HEAD);
const FLOOD_BYTES = 256 * 1024;
const made = new Map<string, Buffer>();

const server = createServer({ maxSessionMemory: 4096 });
server.on("stream", (stream, headers) => {
  stream.on("error", () => undefined);
  const received: Buffer[] = [];
  stream.on("data", (piece: Buffer) => received.push(piece));
  const method = String(headers[":path"]).split("/").at(-1) ?? "";
  const token = headers.authorization?.replace("Bearer ", "") ?? "";
  stream.on("end", () => {
    if (method === "ExecutePlan") answerQuery(stream, Buffer.concat(received));
    else answerCall(stream, method, token);
  });
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`));

function answerQuery(stream: ServerHttp2Stream, request: Buffer): void {
  const name = queryOf(fromBinary(ExecutePlanRequestSchema, request.subarray(FRAME_HEAD)));
  const send = streams[name] ?? ((to) => sendOnly(to, messageOf(name)));
  send(stream);
}

function answerCall(stream: ServerHttp2Stream, method: string, token: string): void {
  if (token !== "") sendOnly(stream, messageOf(token));
  else if (method === "ReattachExecute") sendError(stream, errorTrailers("INVALID_HANDLE.OPERATION_NOT_FOUND"));
  else sendOnly(stream, EMPTY_FRAME);
}

function queryOf({ plan }: ExecutePlanRequest): string {
  const relation = plan?.opType.case === "root" ? plan.opType.value : undefined;
  return relation?.relType.case === "sql" ? relation.relType.value.query : "";
}

const streams: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  /** Small messages without an end. */
  flood: (stream) => {
    respond(stream);
    const piece = repeated(messageOf("progress"), FLOOD_BYTES);
    const more = (): void => {
      while (!stream.destroyed && stream.write(piece));
    };
    stream.on("drain", more);
    more();
  },
  /** An error with 15,000 empty details. */
  "many details": (stream) => sendError(stream, trailers(13, "no", emptyMessages(3, 15_000))),
  "malformed details": (stream) => sendError(stream, trailers(13, "no", Buffer.from([0xff]))),
  gzip: (stream) => {
    const whole = messageOf("425,000 stages");
    sendOnly(stream, framed(gzipSync(whole.subarray(FRAME_HEAD)), 1), { "grpc-encoding": "gzip" });
  },
  /** 80 MiB in 80 KiB, beyond what the client receives. */
  "gzip bomb": (stream) => {
    sendOnly(stream, framed(gzipSync(Buffer.alloc(80 * 1024 * 1024)), 1), { "grpc-encoding": "gzip" });
  },
};

function messageOf(name: string): Buffer {
  const message = made.get(name) ?? framed(hostileMessages[name]?.() ?? Buffer.alloc(0), 0);
  made.set(name, message);
  return message;
}

function framed(message: Buffer, flag: 0 | 1): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function repeated(message: Buffer, bytes: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.floor(bytes / message.length) }, () => message));
}

function respond(stream: ServerHttp2Stream, headers: Record<string, string> = {}): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...headers }, { waitForTrailers: true });
}

function sendOnly(stream: ServerHttp2Stream, message: Buffer, headers: Record<string, string> = {}): void {
  respond(stream, headers);
  stream.on("wantTrailers", () => stream.sendTrailers(trailers(0)));
  stream.end(message);
}

function sendError(stream: ServerHttp2Stream, end: Record<string, string>): void {
  respond(stream);
  stream.on("wantTrailers", () => stream.sendTrailers(end));
  stream.end();
}
