import { commandLogLine } from "./commands/queue/command-log-lines.ts";
import type { Config } from "./config.ts";
import { requestLogLine } from "./http/request-log-line.ts";
import { createJsonLog, createTextLog, type Log } from "./lib/log.ts";
import { Terminal, type TerminalStream, type ProgressStep } from "./lib/terminal/terminal.ts";

/** The outputs of a program: its log on stderr, and its lines on stdout. */
export interface OpenLog {
  readonly log: Log;
  /** Writes a line to stdout, which may be the same screen as stderr. */
  readonly say: (line: string) => void;
  /** Shows a long step as a line that is redrawn. Undefined: stderr is not a terminal, so steps are logged. */
  readonly showProgress: ((step: ProgressStep | undefined) => void) | undefined;
}

/** Writes text if stderr is a terminal and JSON lines otherwise, unless `HEADGATE_LOG_FORMAT` is set. */
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
    log: createTextLog(logLevel, terminal, [requestLogLine, commandLogLine]),
    say: (line) => terminal.aside(() => sayPlainly(line)),
    showProgress: terminal.isInteractive ? (step) => terminal.showProgress(step) : undefined,
  };
}
