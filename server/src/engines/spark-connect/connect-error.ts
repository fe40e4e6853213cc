/**
 *   failed          the statement failed; the message is Spark's, or names a limit that its response exceeds
 *   cancelled       the statement was interrupted
 *   operation gone  the server does not have the operation, or not the requested part of its result
 *   session gone    the server does not have the session, or a different one with the same id
 *   taken over      another reader attached to the operation
 *   refused         the token is wrong
 *   unavailable     the server does not respond
 */
export type ConnectErrorKind =
  | "failed"
  | "cancelled"
  | "operation gone"
  | "session gone"
  | "taken over"
  | "refused"
  | "unavailable";

export interface ConnectErrorFacts {
  readonly kind: ConnectErrorKind;
  readonly message: string;
  /** The gRPC status code. */
  readonly code: number;
  /** Such as `TABLE_OR_VIEW_NOT_FOUND`. */
  readonly errorClass?: string | undefined;
  /** Five characters. */
  readonly sqlState?: string | undefined;
  /** The id for which the server has further details. */
  readonly errorId?: string | undefined;
}

export class ConnectError extends Error {
  override readonly name = "ConnectError";
  readonly kind: ConnectErrorKind;
  readonly code: number;
  readonly errorClass: string | undefined;
  readonly sqlState: string | undefined;
  readonly errorId: string | undefined;

  constructor({ kind, message, code, errorClass, sqlState, errorId }: ConnectErrorFacts) {
    super(message);
    this.kind = kind;
    this.code = code;
    this.errorClass = errorClass;
    this.sqlState = sqlState;
    this.errorId = errorId;
  }

  /** The operation was started before. */
  get operationExists(): boolean {
    return this.errorClass === "INVALID_HANDLE.OPERATION_ALREADY_EXISTS";
  }
}

/** A status of gRPC, whose library is loaded only when it is used. */
const RESOURCE_EXHAUSTED = 8;

/** The server sent something that we do not read; the message names the limit. */
export function unreadable(message: string): ConnectError {
  return new ConnectError({ kind: "failed", message, code: RESOURCE_EXHAUSTED });
}

/** Returns the error of a message that cannot be read; `error` is what its parser has thrown. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return unreadable(`The Spark server sent a message that cannot be read: ${reason}`);
}
