import type { ConnectError } from "../../engines/spark-connect/connect-error.ts";

const LONGEST_CAUSE = 500;
const LONGEST_STATEMENT = 200;

/** For the row: the log has all of it. */
export function firstLine(text: string): string {
  const [first = ""] = text.split("\n", 1);
  return first.slice(0, LONGEST_CAUSE);
}

/** For the log: on one line. */
export function shortened(sql: string): string {
  const line = sql.replaceAll(/\s+/g, " ");
  return line.length > LONGEST_STATEMENT ? `${line.slice(0, LONGEST_STATEMENT)} …` : line;
}

/** The class stands in Spark's message already, most of the time. */
export function described({ message, errorClass, sqlState }: ConnectError): string {
  const parts = [
    errorClass !== undefined && !message.includes(`[${errorClass}]`) ? `[${errorClass}] ` : "",
    message,
    sqlState !== undefined && !message.includes(sqlState) ? ` SQLSTATE: ${sqlState}` : "",
  ];
  return parts.join("");
}
