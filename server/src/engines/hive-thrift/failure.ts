import { Fault } from "../../lib/fault.ts";
import { MessageTooLong, ThriftError } from "./codec/thrift-error.ts";
import { ConnectionLost, type Address } from "./connection.ts";
import { Unproven } from "./shared-secret.ts";

/** It ended the connection instead of greeting back. */
export class GreetingRefused extends Error {
  override readonly name = "GreetingRefused";

  constructor(cause: unknown) {
    super("the greeting was refused", { cause });
  }
}

/**
 * What a call failed with, for its caller: what the metastore said stays its own (`HiveError`), as does the reason of a
 * caller who called it off; that it is not there, or not in time, or none, is a fault.
 */
export function failureOf(error: unknown, { host, port }: Pick<Address, "host" | "port">): unknown {
  const words = wordsFor(error);
  if (words === undefined) return error;
  return new Fault("unavailable", `The Hive metastore at ${host}:${port} ${words}.`, { cause: error });
}

/** The answer was more than its caller takes: it would be the next time, too. */
export function isTooLong(error: unknown): boolean {
  return error instanceof Fault && error.cause instanceof MessageTooLong;
}

function wordsFor(error: unknown): string | undefined {
  if (error instanceof ThriftError) return `does not speak as one: ${error.message}`;
  if (error instanceof Unproven) return `has not proven that it is the right one: ${error.message}`;
  if (error instanceof GreetingRefused) {
    return "ends the connection when it is greeted: it may want Kerberos, TLS or another secret";
  }
  if (error instanceof ConnectionLost) return `has ended the connection${codeIn(error.cause)}`;
  if (error instanceof DOMException && error.name === "TimeoutError") return "did not answer in time";
  const code = codeIn(error);
  return code === "" ? undefined : `cannot be reached${code}`;
}

/** Several addresses tried at once fail with the errors of all. */
function codeIn(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const isSystems = first instanceof Error && "syscall" in first && "code" in first;
  return isSystems && typeof first.code === "string" ? ` (${first.code})` : "";
}
