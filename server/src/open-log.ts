import { runLine } from "./commands/queue/run-line.ts";
import type { Config } from "./config.ts";
import { requestLine } from "./http/request-line.ts";
import { createJsonLog, createTextLog, type Log } from "./lib/log.ts";
import { Terminal, type TerminalStream } from "./lib/terminal/terminal.ts";
import type { ProgressStep } from "./lib/terminal/step-line.ts";

/** What a program of ours says: its log on stderr, and what belongs to stdout. */
export interface OpenLog {
  readonly log: Log;
  /** A line on stdout, which may be the same screen. */
  readonly say: (line: string) => void;
  /** Shows a long step as a line that is drawn again; undefined where none can be: then steps are logged. */
  readonly showProgress: ((step: ProgressStep | undefined) => void) | undefined;
}

/** `HEADGATE_LOG_FORMAT`: for people where stderr is a terminal, else JSON lines for programs, unless it says which. */
export function openLog(
  { logLevel, logFormat }: Pick<Config, "logLevel" | "logFormat">,
  stderr: TerminalStream = process.stderr,
  stdout: TerminalStream = process.stdout,
): OpenLog {
  const sayPlainly = (line: string): void => void stdout.write(`${line}\n`);
  const isText = logFormat === "text" || (logFormat === "auto" && stderr.isTTY === true);
  if (!isText) return { log: createJsonLog(logLevel), say: sayPlainly, showProgress: undefined };
  const terminal = new Terminal(stderr);
  return {
    log: createTextLog(logLevel, terminal, [requestLine, runLine]),
    say: (line) => terminal.aside(() => sayPlainly(line)),
    showProgress: terminal.isInteractive ? (step) => terminal.showProgress(step) : undefined,
  };
}
