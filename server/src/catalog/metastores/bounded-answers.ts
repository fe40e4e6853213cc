import type { Client } from "pg";
import { Fault } from "../../lib/fault.ts";

/** More than the longest answer that a metastore's own tables give: the names of 200,000 tables. */
export const LONGEST_ANSWER_MIB = 64;

/**
 * The answer to one statement is held in memory until it is whole, and an account may put what it wants in place of the
 * tables of its metastore: the connection is given up with what arrives beyond the limit, and its statement fails. What
 * has arrived is counted before the driver gets it, whatever it is: rows, a single value, notices.
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
    `The database of the account's metastore answers with more than ${LONGEST_ANSWER_MIB} MB, which is more than is read ` +
      "of it.",
  );
}
