import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Fault } from "../lib/fault.ts";
import { errorReply, toFault } from "./error-body.ts";

/** For the client to read the answer; one that never closes its side would otherwise hold the socket for good. */
const LINGER_MS = 1_000;

/** What Node's parser refuses never becomes a request, so the one error form is written to the socket by hand. */
export function refuseBrokenRequest(error: Error, socket: Socket, traceHeader: string): void {
  if (!socket.writable || ("code" in error && error.code === "ECONNRESET")) {
    socket.destroy();
    return;
  }
  const earlier = answerInProgress(socket);
  if (earlier !== undefined) {
    // The broken bytes follow a good request. An answer now would be taken for that one's, which may have succeeded.
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

/** The answer to a request that arrived whole on this connection and is still being worked on. */
function answerInProgress(socket: Socket): ServerResponse | undefined {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null }; // Node's own, and not typed
  return answer?.req.complete === true ? answer : undefined;
}
