/**
 * §7: all errors have one format, including those of the router and the parser. Only this file knows HTTP statuses.
 */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Type } from "typebox";
import { Fault, type FaultCode } from "../lib/fault.ts";

const STATUS: Record<FaultCode, number> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  "not-found": 404,
  "method-not-allowed": 405,
  "request-timeout": 408,
  conflict: 409,
  "precondition-failed": 412,
  "too-large": 413,
  "range-not-satisfiable": 416,
  invalid: 422,
  "rate-limited": 429,
  "headers-too-large": 431,
  internal: 500,
  unavailable: 503,
};

/** The headers of every response. Browsers must not take a tenant's text for a page or a script. */
export const COMMON_HEADERS = { "X-Content-Type-Options": "nosniff" };

export const ErrorBody = Type.Object(
  { error: Type.Object({ error_code: Type.Integer(), error_message: Type.String() }) },
  { title: "Error" },
);

export interface ErrorReply {
  status: number;
  headers: Record<string, string>;
  body: { error: { error_code: number; error_message: string } };
}

export function errorReply(fault: Fault): ErrorReply {
  const status = STATUS[fault.code];
  const headers: Record<string, string> = {};
  if (fault.retryAfterSeconds !== undefined) headers["Retry-After"] = String(Math.ceil(fault.retryAfterSeconds));
  if (fault.allow !== undefined) headers.Allow = fault.allow.join(", ");
  if (fault.sizeBytes !== undefined) headers["Content-Range"] = `bytes */${fault.sizeBytes}`;
  return { status, headers, body: { error: { error_code: status, error_message: fault.publicMessage } } };
}

/** Translates errors of Fastify and Node. Any unknown error becomes an internal one, without details. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = FRAMEWORK_ERRORS[code];
  if (known !== undefined) return new Fault(known[0], known[1], { cause: error });
  return new Fault("internal", "Something went wrong on our side. The request id helps the operator find it.", {
    cause: error,
  });
}

/** The client disconnected during its own request. Not a failure of the server. */
export function incompleteRequest(cause: unknown): Fault {
  return new Fault("malformed", "The connection was closed before the request was complete.", { cause });
}

const FRAMEWORK_ERRORS: Record<string, [FaultCode, string] | undefined> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ["too-large", "The body is larger than this operation accepts."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["malformed", "The length of the body differs from its Content-Length."],
  FST_ERR_BAD_URL: ["malformed", "The path is not a valid URL path."],
  FST_ERR_MAX_PARAM_LENGTH: [
    "not-found",
    "There is no operation with a path of this length. /docs lists the operations.",
  ],
  FST_ERR_ASYNC_CONSTRAINT: ["malformed", "The request is malformed."],
  HPE_HEADER_OVERFLOW: ["headers-too-large", "The request headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["request-timeout", "The request took too long to arrive."],
};

const RETRY_AFTER_SECONDS = 5;

/** The raw HTTP response that the port holder sends to clients while no server is running. */
export function unavailableResponse(): string {
  const fault = new Fault("unavailable", "Headgate is starting or has been stopped. Try again later.", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
  const { status, headers, body } = errorReply(fault);
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} Service Unavailable`,
    ...Object.entries({ ...COMMON_HEADERS, ...headers }).map(([name, value]) => `${name}: ${value}`),
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
    "",
    text,
  ].join("\r\n");
}

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
      ...Object.entries(COMMON_HEADERS).map(([name, value]) => `${name}: ${value}`),
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
