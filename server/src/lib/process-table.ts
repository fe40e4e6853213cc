import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
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

/** Where a process stands among the others. */
export interface ProcessLinks {
  readonly pid: number;
  readonly parentPid: number;
  /** The pid of the process that began the session. macOS does not tell: there it is the process group. */
  readonly sessionId: number;
  readonly startTime: string;
  /** The program's file name, at most 15 characters of it. */
  readonly name: string;
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

/** Without zombies. Reads no command lines and goes through /proc in one go, so that little changes meanwhile. */
export async function listProcessLinks(): Promise<ProcessLinks[]> {
  if (process.platform !== "linux") return (await runPs(["-ax"], linkColumns)).flatMap((line) => parseLink(line) ?? []);
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => readLinks(Number(pid)) ?? []);
}

/** Undefined when it is gone or a zombie. */
export async function findProcessLinks(pid: number): Promise<ProcessLinks | undefined> {
  if (process.platform === "linux") return readLinks(pid);
  const lines = await runPs(["-p", String(pid)], linkColumns);
  return lines.flatMap((line) => parseLink(line) ?? []).find((links) => links.pid === pid);
}

/** Of a child not yet waited for: it has its entry even when it has ended. */
export async function startTimeOfChild(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"))?.startTime;
  return (await findProcessLinks(pid))?.startTime;
}

/** Its processor time, in steps of 10 ms. Undefined when it is gone, and on systems without /proc. */
export function cpuMs(pid: number): number | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"))?.cpuMs;
  } catch {
    return undefined;
  }
}

/** Another one after each start of the machine: pids and start times from before mean nothing. */
export async function readBootId(): Promise<string> {
  if (process.platform === "linux") return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const { stdout } = await promisify(execFile)("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"]);
  return stdout.trim();
}

/** `cmdline` and `stat` are open to everyone, while `cwd` and `exe` need a right that root in a container lacks. */
async function readProc(pid: number): Promise<ProcessFacts | undefined> {
  try {
    const [{ uid }, statLine, cmdline] = await Promise.all([
      stat(`/proc/${pid}`),
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile(`/proc/${pid}/cmdline`, "utf8"),
    ]);
    const parsed = parseStat(statLine);
    if (parsed === undefined || parsed.zombie) return undefined;
    return { pid, uid, startTime: parsed.startTime, commandLine: cmdline.replaceAll("\0", " ").trimEnd() };
  } catch {
    return undefined; // it ended while we looked
  }
}

function readLinks(pid: number): ProcessLinks | undefined {
  try {
    const parsed = parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    if (parsed === undefined || parsed.zombie) return undefined;
    const { parentPid, sessionId, startTime, name } = parsed;
    return { pid, parentPid, sessionId, startTime, name };
  } catch {
    return undefined; // it ended while we looked
  }
}

export type ProcessStat = Omit<ProcessLinks, "pid"> & {
  readonly zombie: boolean;
  readonly cpuMs: number;
};

/** The unit of times in /proc, whatever the kernel counts in. */
const MS_OF_TICK = 10;

/**
 * proc(5) stat: fields 2 (name), 3 (state), 4 (parent), 6 (session), 14 and 15 (processor time), 20 (threads),
 * 22 (start time).
 */
export function parseStat(line: string): ProcessStat | undefined {
  // The name stands in brackets, with any character in it.
  const nameEnd = line.lastIndexOf(")");
  const [state = "", parent, , session, ...rest] = line.slice(nameEnd + 2).split(" ");
  const threads = Number(rest[13]);
  const startTime = rest[15];
  if (startTime === undefined) return undefined;
  return {
    name: line.slice(line.indexOf("(") + 1, nameEnd),
    // The first thread may be done while others still run, and hold the process's files.
    zombie: (state === "Z" && threads <= 1) || state === "X",
    parentPid: Number(parent),
    sessionId: Number(session),
    cpuMs: (Number(rest[7]) + Number(rest[8])) * MS_OF_TICK,
    startTime,
  };
}

const factColumns = "pid=,uid=,stat=,lstart=,command=";
const linkColumns = "pid=,ppid=,pgid=,stat=,lstart=,ucomm=";

async function listByPs(selection: readonly string[]): Promise<ProcessFacts[]> {
  return (await runPs(selection, factColumns)).flatMap((line) => parsePsLine(line) ?? []);
}

async function runPs(selection: readonly string[], columns: string): Promise<string[]> {
  // ps ends with status 1 when it selects nothing.
  const { stdout } = await promisify(execFile)("/bin/ps", [...selection, "-ww", "-o", columns], {
    env: { LC_ALL: "C" },
    maxBuffer: 16 * 1024 * 1024,
  }).catch(() => ({ stdout: "" }));
  return stdout.split("\n");
}

export function parsePsLine(line: string): ProcessFacts | undefined {
  const match = /^\s*(\d+)\s+(-?\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]{8}\s+\d{4})\s+(.*)$/.exec(line);
  if (match === null) return undefined;
  const [, pid, uid, state = "", startTime = "", commandLine = ""] = match;
  if (state.startsWith("Z")) return undefined;
  return { pid: Number(pid), uid: Number(uid) >>> 0, startTime, commandLine: commandLine.trimEnd() };
}

export function parseLink(line: string): ProcessLinks | undefined {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]{8}\s+\d{4})\s+(.*)$/.exec(line);
  if (match === null) return undefined;
  const [, pid, parent, group, state = "", startTime = "", name = ""] = match;
  if (state.startsWith("Z")) return undefined;
  return { pid: Number(pid), parentPid: Number(parent), sessionId: Number(group), startTime, name: name.trimEnd() };
}
