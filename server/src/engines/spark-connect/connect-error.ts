import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { GrpcFailure } from "./grpc-call.ts";
import { ErrorInfoSchema, StatusSchema } from "./messages/error_details_pb.ts";

/**
 *   failed          the statement: Spark says why
 *   cancelled       it was interrupted
 *   operation gone  the server does not have it, or not the part that was asked for
 *   session gone    the server does not have the session, or another one under its name
 *   taken over      another reader attached itself to the operation
 *   refused         the token is not the server's
 *   unavailable     the server does not answer
 */
export type ConnectErrorKind =
  "failed" | "cancelled" | "operation gone" | "session gone" | "taken over" | "refused" | "unavailable";

export interface ConnectErrorFacts {
  readonly kind: ConnectErrorKind;
  readonly message: string;
  /** Of gRPC. */
  readonly code: number;
  /** Such as `TABLE_OR_VIEW_NOT_FOUND`. */
  readonly errorClass?: string | undefined;
  /** Five characters. */
  readonly sqlState?: string | undefined;
  /** Under which the server still knows more. */
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

  /** Somebody started this very operation before. */
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
  // Spark's own errors come with details. These without any are a connection's that broke.
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

/** The class is left out of the details when its parameters are long. */
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

/** Both as they are thrown by a call. */
export function asConnectError(error: unknown): ConnectError | undefined {
  if (error instanceof ConnectError) return error;
  return error instanceof GrpcFailure ? connectErrorOf(error) : undefined;
}
