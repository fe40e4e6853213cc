import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";

/** What tells one process from another that got its pid later, or that merely looks alike. */
export interface ProcessFacts {
  readonly pid: number;
  readonly uid: number;
  /** Opaque; equal for the same process only. */
  readonly startTime: string;
  /** Arguments joined by blanks; PostgreSQL's children write their title over it. */
  readonly commandLine: string;
}

/** A zombie counts as gone: nobody may ever reap it (a container's first process often does not). */
export async function findProcess(pid: number): Promise<ProcessFacts | undefined> {
  if (process.platform === "linux") return readProc(pid);
  return (await listByPs(["-p", String(pid)])).find((facts) => facts.pid === pid);
}

export async function listProcesses(): Promise<ProcessFacts[]> {
  if (process.platform !== "linux") return listByPs(["-ax"]);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(readProc));
  return found.filter((facts) => facts !== undefined);
}

/** `cmdline` and `stat` are open to everyone, while `cwd` and `exe` need a right that root in a container lacks. */
async function readProc(pid: number): Promise<ProcessFacts | undefined> {
  try {
    const [{ uid }, statLine, cmdline] = await Promise.all([
      stat(`/proc/${pid}`),
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile(`/proc/${pid}/cmdline`, "utf8"),
    ]);
    const startTime = parseStatStartTime(statLine);
    return startTime === undefined
      ? undefined
      : { pid, uid, startTime, commandLine: cmdline.replaceAll("\0", " ").trimEnd() };
  } catch {
    return undefined; // it ended while we looked
  }
}

/** Field 22 of proc(5) stat; undefined for a zombie or a process being torn down. */
export function parseStatStartTime(line: string): string | undefined {
  // The second field is the name in brackets, with any character in it.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
}

async function listByPs(selection: readonly string[]): Promise<ProcessFacts[]> {
  const columns = ["-ww", "-o", "pid=,uid=,stat=,lstart=,command="];
  // ps ends with status 1 when it selects nothing.
  const { stdout } = await promisify(execFile)("/bin/ps", [...selection, ...columns], {
    env: { LC_ALL: "C" },
    maxBuffer: 16 * 1024 * 1024,
  }).catch(() => ({ stdout: "" }));
  return stdout.split("\n").flatMap((line) => parsePsLine(line) ?? []);
}

export function parsePsLine(line: string): ProcessFacts | undefined {
  const match = /^\s*(\d+)\s+(-?\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]{8}\s+\d{4})\s+(.*)$/.exec(line);
  if (match === null) return undefined;
  const [, pid, uid, state = "", startTime = "", commandLine = ""] = match;
  if (state.startsWith("Z")) return undefined;
  return { pid: Number(pid), uid: Number(uid) >>> 0, startTime, commandLine: commandLine.trimEnd() };
}
