/**
 * Processes that outlive our server. `startDetached` starts one in a session of its own, without our descriptors and
 * with only the given environment. Its handle (`process-handle.ts`) finds it again after our restart, and `stopSession`
 * ends it with all its descendants.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync } from "node:fs";
import { Fault } from "../../lib/fault.ts";
import { readBootId, startTimeOfChild } from "../../lib/process-table.ts";
import { closeInheritedDescriptors } from "./inherited-descriptors.ts";
import type { ProcessHandle } from "./process-handle.ts";
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
  if (file === undefined) throw new Fault("internal", "argv of a detached process is empty");
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
      throw new Fault("internal", `${file} was started without a pid`);
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
