import { anyIs } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { ConnectError, type ConnectErrorKind } from "./connect-error.ts";
import { GrpcFailure } from "./grpc-call.ts";
import { ErrorInfoSchema, StatusSchema } from "./messages/error_details_pb.ts";
import { readMessage } from "./read-message.ts";

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
  const { details } = readMessage(StatusSchema, bytes).message;
  const info = details.find((any) => anyIs(any, ErrorInfoSchema));
  return info === undefined ? undefined : readMessage(ErrorInfoSchema, info.value).message.metadata;
}

/** Undefined: the error does not come from a call. */
export function asConnectError(error: unknown): ConnectError | undefined {
  if (error instanceof ConnectError) return error;
  return error instanceof GrpcFailure ? connectErrorOf(error) : undefined;
}
