import type { Client } from "pg";
import { Fault } from "../../lib/fault.ts";

/** More than the largest legitimate result, the names of 200,000 tables. */
export const MAX_RESULT_MIB = 64;

/**
 * Limits the size of a statement's result. The driver holds a result in memory until it is complete, and an account can
 * replace the tables of its metastore with views of any size. A result beyond the limit closes the connection, and the
 * statement fails. All received bytes count, including notices and single large values.
 */
export function limitResultSize({ connection }: Pick<Client, "connection">): void {
  const { stream } = connection;
  let arrived = 0;
  connection.on("readyForQuery", () => (arrived = 0));
  stream.prependListener("data", (chunk: Buffer) => {
    arrived += chunk.length;
    if (arrived > MAX_RESULT_MIB * 1024 * 1024) stream.destroy(tooLong());
  });
}

function tooLong(): Fault {
  return new Fault(
    "invalid",
    `A query on the database of the account's metastore returned more than ${MAX_RESULT_MIB} MB, the maximum size of ` +
      "a result.",
  );
}
