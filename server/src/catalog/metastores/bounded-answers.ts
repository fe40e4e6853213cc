import type { Client } from "pg";
import { Fault } from "../../lib/fault.ts";

/** More than the longest legitimate answer, the names of 200,000 tables. */
export const LONGEST_ANSWER_MIB = 64;

/**
 * The driver holds the answer to a statement in memory until it is complete, and an account can replace the tables of
 * its metastore. An answer beyond the limit therefore closes the connection, and its statement fails. All bytes count,
 * before the driver parses them: rows, a single value, notices.
 */
export function boundAnswers({ connection }: Pick<Client, "connection">): void {
  const { stream } = connection;
  let arrived = 0;
  connection.on("readyForQuery", () => (arrived = 0));
  stream.prependListener("data", (chunk: Buffer) => {
    arrived += chunk.length;
    if (arrived > LONGEST_ANSWER_MIB * 1024 * 1024) stream.destroy(tooLong());
  });
}

function tooLong(): Fault {
  return new Fault(
    "invalid",
    `The database of the account's metastore answers with more than ${LONGEST_ANSWER_MIB} MB, the most that is read in one ` +
      "answer.",
  );
}
