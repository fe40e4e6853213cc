import type { ConnectError } from "../../engines/spark-connect/connect-error.ts";

const LONGEST_CAUSE = 500;
const LONGEST_STATEMENT = 200;

/** For the row, on one line: the log has all of it. */
export function summarised(error: ConnectError): string {
  const [first = ""] = described(error).split("\n", 1);
  return withState(first.slice(0, LONGEST_CAUSE), error);
}

/** For the log: on one line. */
export function shortened(sql: string): string {
  const line = sql.replaceAll(/\s+/g, " ");
  return line.length > LONGEST_STATEMENT ? `${line.slice(0, LONGEST_STATEMENT)} …` : line;
}

/** Class and state stand in Spark's message already, most of the time. */
export function described(error: ConnectError): string {
  const { message, errorClass } = error;
  const isNamed = errorClass === undefined || message.includes(`[${errorClass}]`);
  return withState(isNamed ? message : `[${errorClass}] ${message}`, error);
}

function withState(text: string, { sqlState }: ConnectError): string {
  return sqlState === undefined || text.includes(sqlState) ? text : `${text} SQLSTATE: ${sqlState}`;
}
