/**
 * Log lines about commands: the user, the command and how it ended. They leave out its text and the cause of a failure,
 * which may contain users' data.
 */
import type { Log } from "../../lib/log.ts";
import type { LineForm, Piece, Tone } from "../../lib/terminal/log-line.ts";
import { shortened } from "../../lib/terminal/printable.ts";
import type { ClaimedCommand } from "../store/claims.ts";
import type { SettledCommand } from "../store/queue.ts";

const STARTED = "command started";
const ENDED = "command ended";
const LONGEST_NAME = 60;

type Described = Pick<ClaimedCommand, "id" | "accountId" | "email" | "commandType" | "name" | "attempt">;

export function logStart(log: Log, command: Described): void {
  log.info(fieldsOf(command), STARTED);
}

/** Status `running`: the attempt has failed, and the next one is due later. */
export function logEnd(
  log: Log,
  command: Described,
  { status, seconds }: Pick<SettledCommand, "status" | "seconds">,
): void {
  const rounded = seconds === null ? null : Math.round(seconds * 10) / 10;
  log.info({ ...fieldsOf(command), status: status === "running" ? "retry" : status, seconds: rounded }, ENDED);
}

function fieldsOf({ id, accountId, email, commandType, name, attempt }: Described) {
  return { command: id, accountId, email, type: commandType, ...(name === null ? {} : { name }), attempt };
}

/** The record as a line of text: `command 7  ada@example.com  SparkCommand "count"  done  6.2 s`. */
export const commandLogLine: LineForm = ({ msg, command, email, type, name, attempt, status, seconds }) => {
  if (msg !== STARTED && msg !== ENDED) return undefined;
  const title = typeof name === "string" && name !== "" ? ` "${shortened(name, LONGEST_NAME)}"` : "";
  const again = typeof attempt === "number" && attempt > 1 ? ` (attempt ${attempt})` : "";
  const what: Piece[] = [
    { text: `command ${String(command)}` },
    { text: String(email) },
    { text: `${String(type)}${title}${again}` },
  ];
  if (msg === STARTED) return [...what, { text: "started" }];
  const took: Piece[] = typeof seconds === "number" ? [{ text: `${seconds} s`, tone: "dim" }] : [];
  return [...what, { text: String(status), tone: TONES[String(status)] ?? "yellow" }, ...took];
};

const TONES: Readonly<Record<string, Tone>> = { done: "green", error: "red" };
