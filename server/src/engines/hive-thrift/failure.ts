import { Fault } from "../../lib/fault.ts";
import { MessageTooLong, ThriftError } from "./codec/thrift-type.ts";
import { ConnectionLost, type Address } from "./connection.ts";
import { SecretNotProven } from "./shared-secret.ts";

/** The metastore closed the connection instead of answering the first message. */
export class HandshakeRefused extends Error {
  override readonly name = "HandshakeRefused";

  constructor(cause: unknown) {
    super("the handshake was refused", { cause });
  }
}

/**
 * Translates the error of a call. Errors that the metastore returned (`HiveError`) and the reason of an abort by the caller
 * stay unchanged. A metastore that is unreachable, too slow or not a metastore becomes a fault.
 */
export function failureOf(error: unknown, { host, port }: Pick<Address, "host" | "port">): unknown {
  const problem = describeProblem(error);
  if (problem === undefined) return error;
  return new Fault("unavailable", `The Hive metastore at ${host}:${port} ${problem}.`, { cause: error });
}

/** The answer exceeded its budget; a retry would fail again. */
export function isTooLong(error: unknown): boolean {
  return error instanceof Fault && error.cause instanceof MessageTooLong;
}

function describeProblem(error: unknown): string | undefined {
  if (error instanceof ThriftError) return `did not answer as a metastore does: ${error.message}`;
  if (error instanceof SecretNotProven) return `did not prove that it knows the shared secret: ${error.message}`;
  if (error instanceof HandshakeRefused) {
    return "closed the connection during the handshake: it may require Kerberos, TLS or a secret";
  }
  if (error instanceof ConnectionLost) return `closed the connection${codeIn(error.cause)}`;
  if (error instanceof DOMException && error.name === "TimeoutError") return "did not answer in time";
  const code = codeIn(error);
  return code === "" ? undefined : `cannot be reached${code}`;
}

/** When several addresses were tried, the error contains one error for each. */
function codeIn(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const isSystems = first instanceof Error && "syscall" in first && "code" in first;
  return isSystems && typeof first.code === "string" ? ` (${first.code})` : "";
}
