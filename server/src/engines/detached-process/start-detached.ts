/**
 * Processes that outlive us: `startDetached` gives one a session of its own, nothing of our descriptors and only the
 * environment it is told; its handle (`process-handle.ts`) finds it again after our restart, and `stopSession` ends it
 * with everything it has started.
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
  /** The program's file, then its arguments. Looked up in PATH of `env` when it is a bare name. */
  readonly argv: readonly string[];
  /** All of it: nothing is inherited from us. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Appended to, made with mode 0600; absent: thrown away. */
  readonly stdoutFile?: string;
  readonly stderrFile?: string;
  /** Opened by us for reading, so that the program's own user need not reach it; the program has it as descriptor 3. */
  readonly inputFile?: string;
  readonly identity?: { readonly uid: number; readonly gid: number };
  /** How far its session stands back from others where the kernel groups processes by session, as nice(1) counts it. */
  readonly sessionNice?: number;
}

/** Settles when the program has been started; it may have ended already. */
export async function startDetached(program: DetachedProgram): Promise<ProcessHandle> {
  const [file, ...args] = program.argv;
  if (file === undefined) throw new Fault("internal", "a detached process needs a program");
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
      await once(child, "spawn"); // fails with the reason
      throw new Fault("internal", `${file} was started without a pid`);
    }
    child.unref();
    if (program.sessionNice !== undefined) setSessionNice(`/proc/${pid}`, program.sessionNice);
    // Before anything is awaited: an entry that Node has not waited for is still there.
    const startTime = startTimeOfChild(pid);
    return { bootId: await readBootId(), pid, startTime: (await startTime) ?? "" };
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
