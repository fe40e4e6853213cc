/**
 * Processes that outlive our server. `startDetached` starts one in a session of its own, without our descriptors and
 * with only the given environment. Its handle finds it again after our restart (`findProcess`), and `stopSession`
 * ends it with all its descendants.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readdirSync, readFileSync } from "node:fs";
import { readBootId, startTimeOfChild, findProcessLinks } from "../../lib/process-table.ts";
import { setSessionNice } from "./session-nice.ts";

export interface DetachedProgram {
  /** The program, then its arguments. A bare name is looked up in the PATH of `env`. */
  readonly argv: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Created with mode 0600 and appended to. Output is discarded if absent. */
  readonly stdoutFile?: string;
  readonly stderrFile?: string;
  /** Passed as descriptor 3. Opened before the switch to `identity`, whose user may have no access. */
  readonly inputFile?: string;
  readonly identity?: { readonly uid: number; readonly gid: number };
  /** The nice value of its session, see `setSessionNice`. */
  readonly sessionNice?: number;
}

/** Resolves when the program has been started; it may have ended already. */
export async function startDetached(program: DetachedProgram): Promise<ProcessHandle> {
  const [file, ...args] = program.argv;
  if (file === undefined) throw new Error("argv of a detached process is empty");
  closeInheritedDescriptors();
  const opened: number[] = [];
  const open = (path: string | undefined, flags: number): number | "ignore" => {
    if (path === undefined) return "ignore";
    const descriptor = openSync(path, flags, 0o600);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    const append = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY;
    const stdio = ["ignore" as const, open(program.stdoutFile, append), open(program.stderrFile, append)];
    if (program.inputFile !== undefined) stdio.push(open(program.inputFile, constants.O_RDONLY));
    const { cwd, env, identity } = program;
    const child = spawn(file, args, { cwd, env, stdio, detached: true, ...identity });
    const { pid } = child;
    if (pid === undefined) {
      await once(child, "spawn"); // throws the reason
      throw new Error(`${file} was started without a pid`);
    }
    child.unref();
    if (program.sessionNice !== undefined) setSessionNice(`/proc/${pid}`, program.sessionNice);
    // Read before any await, so that Node has not reaped the process yet.
    const startTime = startTimeOfChild(pid);
    return { bootId: await readBootId(), pid, startTime: (await startTime) ?? "" };
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/**
 * Identifies a process uniquely, even after a restart of our server: a pid alone is reused. Stored as JSON. After a
 * reboot, the processes of all earlier handles are gone.
 */
export interface ProcessHandle {
  readonly bootId: string;
  readonly pid: number;
  /** Opaque; unique together with the pid until the next reboot. */
  readonly startTime: string;
}

export function parseProcessHandle(value: unknown): ProcessHandle | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { bootId, pid, startTime } = value as Partial<Record<keyof ProcessHandle, unknown>>; // checked below
  if (typeof bootId !== "string" || typeof startTime !== "string") return undefined;
  // To kill(2), 0 and negative numbers are process groups; 1 is init.
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 2) return undefined;
  return { bootId, pid, startTime };
}

/** A zombie, another process with the same pid, and a process from before a reboot count as gone. */
export async function findProcess(handle: ProcessHandle): Promise<"running" | "gone"> {
  if (handle.bootId !== (await readBootId())) return "gone";
  const found = await findProcessLinks(handle.pid);
  return found?.startTime === handle.startTime ? "running" : "gone";
}

const closeOnExec = 0o2000000;
let closed = false;

/**
 * Closes inherited descriptors that a child process would inherit again. Node marks inherited descriptors close-on-exec
 * only up to the first gap above 15. A pipe of our parent would stay open in detached processes, and its reader would
 * wait for them. Works only on Linux.
 */
export function closeInheritedDescriptors(): void {
  if (closed || process.platform !== "linux") return;
  closed = true;
  for (const descriptor of readdirSync("/proc/self/fd").map(Number)) {
    if (descriptor > 2 && isInheritable(descriptor)) closeSync(descriptor);
  }
}

function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    return false; // the descriptor that listed the folder is already closed
  }
}
