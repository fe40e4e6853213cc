/**
 * The only error type for refusals and failures. A fault separates the text for clients (`publicMessage`) from the
 * `cause`, which is only logged. Slices throw faults and know no HTTP; `http/error-body.ts` maps codes to statuses.
 */
import { shownValue } from "./shown-value.ts";

export type FaultCode =
  | "malformed" // the bytes do not follow the protocol
  | "unauthenticated"
  | "forbidden"
  | "not-found"
  | "method-not-allowed"
  | "request-timeout"
  | "conflict"
  | "precondition-failed"
  | "too-large"
  | "range-not-satisfiable"
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
  /** The size of the object that has no such range. Sent as `Content-Range`. */
  sizeBytes?: number;
}

export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly publicMessage: string;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[] | undefined;
  readonly sizeBytes: number | undefined;

  constructor(code: FaultCode, publicMessage: string, details: FaultDetails = {}) {
    super(publicMessage, { cause: details.cause });
    this.code = code;
    this.publicMessage = publicMessage;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.allow = details.allow;
    this.sizeBytes = details.sizeBytes;
  }
}

/** How a rule begins, so that it reads as a sentence after the name of the field. A further verb may be added here. */
type Beginning =
  | "must"
  | "may not"
  | "cannot"
  | "is"
  | "are"
  | "has"
  | "have"
  | "names"
  | "needs"
  | "contains"
  | "exceeds"
  | "takes"
  | "uses"
  | "deletes"
  | "ends with"
  | "of";

export type Rule = `${Beginning} ${string}`;

/** The message starts with the field, so that a client can show it next to the input. */
export function invalid(field: string, rule: Rule): Fault {
  return new Fault("invalid", `${field} ${rule}`);
}

/**
 * For an id that never existed, one of another account, and one that the caller must not learn about. `id` is what the
 * request says, so that the three texts cannot be told apart.
 */
export function notFound(kind: string, id: string | number, where = ""): Fault {
  return new Fault("not-found", `${kind} ${shownValue(id)} does not exist${where}.`);
}

/** For an unknown path, and for an operation that the caller must not learn about. Shows `url` without its query. */
export function noSuchOperation(method: string, url: string): Fault {
  const [path = ""] = url.split("?", 1);
  return new Fault("not-found", `There is no operation ${method} ${shownValue(path)}. /docs lists the operations.`);
}
