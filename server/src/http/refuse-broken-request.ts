import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { Fault } from "../lib/fault.ts";
import { errorReply, toFault } from "./error-body.ts";

/** What Node's parser refuses never becomes a request, so the one error form is written to the socket by hand. */
export function refuseBrokenRequest(error: Error, socket: Socket, traceHeader: string): void {
  if (!socket.writable || ("code" in error && error.code === "ECONNRESET")) {
    socket.destroy();
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
}
