import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { GrpcFailure } from "./grpc-call.ts";
import { ErrorInfoSchema, StatusSchema } from "./messages/error_details_pb.ts";

/**
 *   failed          the statement failed; the message is Spark's
 *   cancelled       the statement was interrupted
 *   operation gone  the server does not have the operation, or not the requested part of its result
 *   session gone    the server does not have the session, or a different one with the same id
 *   taken over      another reader attached to the operation
 *   refused         the token is wrong
 *   unavailable     the server does not respond
 */
export type ConnectErrorKind =
  "failed" | "cancelled" | "operation gone" | "session gone" | "taken over" | "refused" | "unavailable";

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

const kindOfClass: Readonly<Record<string, ConnectErrorKind>> = {
  OPERATION_CANCELED: "cancelled",
  "INVALID_HANDLE.OPERATION_NOT_FOUND": "operation gone",
  "INVALID_HANDLE.OPERATION_ABANDONED": "operation gone",
  "INVALID_CURSOR.POSITION_NOT_FOUND": "operation gone",
  "INVALID_CURSOR.POSITION_NOT_AVAILABLE": "operation gone",
  "INVALID_CURSOR.NOT_REATTACHABLE": "operation gone",
  "INVALID_HANDLE.SESSION_NOT_FOUND": "session gone",
  "INVALID_HANDLE.SESSION_CLOSED": "session gone",
  "INVALID_HANDLE.SESSION_CHANGED": "session gone",
  "INVALID_CURSOR.DISCONNECTED": "taken over",
};

const kindOfCode: Partial<Record<status, ConnectErrorKind>> = {
  [status.UNAUTHENTICATED]: "refused",
  [status.PERMISSION_DENIED]: "refused",
  [status.UNAVAILABLE]: "unavailable",
  [status.DEADLINE_EXCEEDED]: "unavailable",
  // Spark's own errors have details. Without them, these are broken connections.
  [status.INTERNAL]: "unavailable",
  [status.CANCELLED]: "unavailable",
};

function connectErrorOf(failure: GrpcFailure): ConnectError {
  const { code, message } = failure;
  const info = errorInfoOf(failure);
  if (info === undefined) return new ConnectError({ kind: kindOfCode[code] ?? "failed", message, code });
  const { errorClass = classInText(message), sqlState, errorId } = info;
  const kind = errorClass === undefined ? "failed" : (kindOfClass[errorClass] ?? "failed");
  return new ConnectError({ kind, message: message.trim(), code, errorClass, sqlState, errorId });
}

/** Spark omits the class from the details if its parameters are long. */
function classInText(message: string): string | undefined {
  return /^\s*\[([A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]/.exec(message)?.[1];
}

function errorInfoOf({ metadata }: GrpcFailure): Record<string, string | undefined> | undefined {
  const [bytes] = metadata?.get("grpc-status-details-bin") ?? [];
  if (!(bytes instanceof Uint8Array)) return undefined;
  const { details } = fromBinary(StatusSchema, bytes);
  const info = details.map((any) => anyUnpack(any, ErrorInfoSchema)).find((found) => found !== undefined);
  return info?.metadata;
}

/** Undefined: the error does not come from a call. */
export function asConnectError(error: unknown): ConnectError | undefined {
  if (error instanceof ConnectError) return error;
  return error instanceof GrpcFailure ? connectErrorOf(error) : undefined;
}
