import { Type } from "typebox";
import { Fault, type FaultCode } from "../lib/fault.ts";

/**
 * §7: all errors have one format, including those of the router and the parser. Only this file knows HTTP statuses.
 */
const STATUS: Record<FaultCode, number> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  "not-found": 404,
  "method-not-allowed": 405,
  "request-timeout": 408,
  conflict: 409,
  "too-large": 413,
  invalid: 422,
  "rate-limited": 429,
  "headers-too-large": 431,
  internal: 500,
  unavailable: 503,
};

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
  FST_ERR_MAX_PARAM_LENGTH: ["not-found", "Not found."],
  FST_ERR_ASYNC_CONSTRAINT: ["malformed", "The request is malformed."],
  HPE_HEADER_OVERFLOW: ["headers-too-large", "The request headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["request-timeout", "The request took too long to arrive."],
};
