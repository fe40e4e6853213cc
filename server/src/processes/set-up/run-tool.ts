import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Fault } from "../../lib/fault.ts";

export interface ToolOptions {
  readonly signal?: AbortSignal;
  readonly cwd?: string;
  /** Replaces the environment; absent: the server's own, including the operator's proxies and mirrors. */
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly gid?: number;
  readonly timeoutMs?: number;
  readonly onLine?: (line: string) => void;
}

interface ToolResult {
  readonly exitCode: number | null;
  readonly isTimedOut: boolean;
  readonly stdout: string;
  /** The end of both streams, for a message. */
  readonly output: string;
}

const keptCharacters = 8_000;

/** Runs a program to its end. The signal kills its whole process group. */
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
      // It has just ended.
    }
  };
  let isTimedOut = false;
  const onTimeout = (): void => {
    isTimedOut = true;
    kill();
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
  signal?.addEventListener("abort", kill);
  let stdout = "";
  let output = "";
  const append = (text: string): void => void (output = (output + text).slice(-keptCharacters));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    append(text);
  });
  child.stderr.setEncoding("utf8").on("data", append);
  if (onLine !== undefined) createInterface({ input: child.stdout }).on("line", onLine);
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    signal?.throwIfAborted();
    return { exitCode, isTimedOut, stdout, output };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", kill);
  }
}

/** The tool's output may name hosts and folders, so it becomes the cause, which only operators see. */
export async function mustRun(what: string, argv: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  const result = await runTool(argv, options);
  if (result.exitCode === 0) return result;
  const cause = new Error(result.output.trim());
  throw new Fault("unavailable", `${what} failed (${howItEnded(result, options)})`, { cause });
}

function howItEnded({ exitCode, isTimedOut }: ToolResult, { timeoutMs = 0 }: ToolOptions): string {
  if (isTimedOut) return `it timed out after ${timeoutMs / 1000} seconds`;
  return exitCode === null ? "it was killed" : `exit code ${exitCode}`;
}

/**
 * If the server is root, programs run as other users. A tool that these cannot run, such as one in a 0700 home, is not
 * used.
 */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const asOtherUser = isRoot ? { uid: nobody, gid: nobody } : {};
const probeOptions = { cwd: "/", timeoutMs: 20_000 };

/**
 * Runs a program and parses its output. Undefined: it is missing, cannot be run, fails, or `parse` rejects its output.
 */
export async function probeTool<T>(
  argv: readonly string[],
  parse: (output: string) => T | undefined,
): Promise<T | undefined> {
  try {
    const { exitCode, output } = await runTool(argv, probeOptions);
    return exitCode === 0 ? parse(output) : undefined;
  } catch {
    return undefined;
  }
}

export async function otherUsersCanRun(argv: readonly string[]): Promise<boolean> {
  const env = { PATH: "/usr/bin:/bin" };
  return runTool(argv, { ...probeOptions, ...asOtherUser, env }).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  );
}

/** Part of a message that says what is missing. */
export const otherUsersHint = isRoot ? ", which other users can run too (not in a private home folder)" : "";
