import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Fault } from "../lib/fault.ts";
import { errorReply, toFault } from "./error-body.ts";

/** Time for the client to read the response; a client that never closes its side would hold the socket forever. */
const LINGER_MS = 1_000;

/** Requests that Node's parser refuses never reach Fastify, so the error is written to the socket directly. */
export function refuseBrokenRequest(error: Error, socket: Socket, traceHeader: string): void {
  if (!socket.writable || ("code" in error && error.code === "ECONNRESET")) {
    socket.destroy();
    return;
  }
  const earlier = answerInProgress(socket);
  if (earlier !== undefined) {
    // Broken bytes after a valid request: an error now would be read as the response to that request, which may
    // succeed.
    earlier.shouldKeepAlive = false;
    return;
  }
  const known = toFault(error);
  const fault = known.code === "internal" ? new Fault("malformed", "The request is not valid HTTP.") : known;
  const { status, body } = errorReply(fault);
  const text = JSON.stringify(body);
  const requestId = randomUUID();
  socket.end(
    [
      `HTTP/1.1 ${status} Error`,
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(text)}`,
      `X-Request-Id: ${requestId}`,
      `${traceHeader}: ${requestId}`,
      "Connection: close",
      "",
      text,
    ].join("\r\n"),
  );
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** The response to a complete request on this connection that is still being handled. */
function answerInProgress(socket: Socket): ServerResponse | undefined {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null }; // internal to Node and untyped
  return answer?.req.complete === true ? answer : undefined;
}
