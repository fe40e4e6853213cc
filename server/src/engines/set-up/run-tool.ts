import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Fault } from "../../lib/fault.ts";

export interface ToolOptions {
  readonly signal?: AbortSignal;
  readonly cwd?: string;
  /** Replaces the environment; without it the tool has ours, with the proxies and mirrors an operator set. */
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly gid?: number;
  readonly timeoutMs?: number;
  readonly onLine?: (line: string) => void;
}

export interface ToolResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** The end of both streams, for a message. */
  readonly said: string;
}

const keptCharacters = 8_000;

/** Runs a program to its end. Its children end with it: it leads a group of its own, which the signal kills. */
export async function runTool(argv: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  const { signal, onLine, timeoutMs, ...rest } = options;
  const [program = "", ...args] = argv;
  signal?.throwIfAborted();
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, ...rest });
  const kill = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended on its own meanwhile.
    }
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(kill, timeoutMs);
  signal?.addEventListener("abort", kill);
  let stdout = "";
  let said = "";
  const hear = (text: string): void => void (said = (said + text).slice(-keptCharacters));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    hear(text);
  });
  child.stderr.setEncoding("utf8").on("data", hear);
  if (onLine !== undefined) createInterface({ input: child.stdout }).on("line", onLine);
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    signal?.throwIfAborted();
    return { exitCode, stdout, said };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", kill);
  }
}

/** What the tool said may name hosts and folders: it is the cause, for the log and the terminal. */
export async function mustRun(what: string, argv: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  const result = await runTool(argv, options);
  if (result.exitCode === 0) return result;
  const cause = new Error(result.said.trim());
  throw new Fault("unavailable", `${what} failed (${howItEnded(result, options)})`, { cause });
}

function howItEnded({ exitCode }: ToolResult, { timeoutMs }: ToolOptions): string {
  if (exitCode !== null) return `exit code ${exitCode}`;
  return timeoutMs === undefined ? "it was killed" : `it was killed, or not done after ${timeoutMs / 1000} seconds`;
}
