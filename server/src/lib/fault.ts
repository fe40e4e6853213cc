/**
 * The one way this product refuses or fails. A fault carries what the outside may read (`publicMessage`) apart from
 * what only the log may (`cause`). Slices throw faults and know no HTTP; `http/error-body.ts` maps codes to statuses.
 */
export type FaultCode =
  | "malformed" // the bytes are not what the protocol asks for
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

/** A value that breaks a rule. The message starts with the field, so that a client can show it beside the input. */
export function invalid(field: string, rule: string): Fault {
  return new Fault("invalid", `${field} ${rule}`);
}

/** One text for an unknown path, an unknown id and an id of another account: byte-equal, so nothing can be told apart. */
export function notFound(): Fault {
  return new Fault("not-found", "Not found.");
}
