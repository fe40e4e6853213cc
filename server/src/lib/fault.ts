/**
 * The only error type for refusals and failures. A fault separates the text for clients (`publicMessage`) from the
 * `cause`, which is only logged. Slices throw faults and know no HTTP; `http/error-body.ts` maps codes to statuses.
 */
export type FaultCode =
  | "malformed" // the bytes do not follow the protocol
  | "unauthenticated"
  | "forbidden"
  | "not-found"
  | "method-not-allowed"
  | "request-timeout"
  | "conflict"
  | "too-large"
  | "invalid" // well-formed, but a value breaks a rule: the message names the field and the rule
  | "headers-too-large"
  | "rate-limited"
  | "internal"
  | "unavailable";

export interface FaultDetails {
  cause?: unknown;
  /** Sent as `Retry-After`. */
  retryAfterSeconds?: number;
  /** Sent as `Allow`. */
  allow?: readonly string[];
}

export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly publicMessage: string;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[] | undefined;

  constructor(code: FaultCode, publicMessage: string, details: FaultDetails = {}) {
    super(publicMessage, { cause: details.cause });
    this.code = code;
    this.publicMessage = publicMessage;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.allow = details.allow;
  }
}

/** The message starts with the field, so that a client can show it next to the input. */
export function invalid(field: string, rule: string): Fault {
  return new Fault("invalid", `${field} ${rule}`);
}

/** The same text for an unknown path, an unknown id and an id of another account, so that they cannot be told apart. */
export function notFound(): Fault {
  return new Fault("not-found", "Not found.");
}
