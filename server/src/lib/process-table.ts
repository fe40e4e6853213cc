import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";

/** Identifies a process, so that another one that reuses its pid is not mistaken for it. */
export interface ProcessFacts {
  readonly pid: number;
  readonly uid: number;
  /** Opaque; equal only for the same process. */
  readonly startTime: string;
  /** Arguments joined by spaces; PostgreSQL's children overwrite them with their title. */
  readonly commandLine: string;
}

/** The parent and session of a process. */
export interface ProcessLinks {
  readonly pid: number;
  readonly parentPid: number;
  /** The pid of the session leader; on macOS the process group, because the session is not available there. */
  readonly sessionId: number;
  readonly startTime: string;
  /** The program's file name, cut to 15 characters. */
  readonly name: string;
}

/** Zombies count as gone: they may never be reaped (a container's first process often does not do it). */
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

/**
 * Without zombies. Reads no command lines and scans /proc in one pass, so that few processes change during the scan.
 */
export async function listProcessLinks(): Promise<ProcessLinks[]> {
  if (process.platform !== "linux") return (await runPs(["-ax"], linkColumns)).flatMap((line) => parseLink(line) ?? []);
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => readLinks(Number(pid)) ?? []);
}

/** Undefined if it is gone or a zombie. */
export async function findProcessLinks(pid: number): Promise<ProcessLinks | undefined> {
  if (process.platform === "linux") return readLinks(pid);
  const lines = await runPs(["-p", String(pid)], linkColumns);
  return lines.flatMap((line) => parseLink(line) ?? []).find((links) => links.pid === pid);
}

/** The start time of a child that has not been waited for: it has an entry even after it ended. */
export async function startTimeOfChild(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"))?.startTime;
  return (await findProcessLinks(pid))?.startTime;
}

/** CPU time, in steps of 10 ms. Undefined if the process is gone, and on systems without /proc. */
export function cpuMs(pid: number): number | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"))?.cpuMs;
  } catch {
    return undefined;
  }
}

/** Changes with each boot of the machine: earlier pids and start times are then meaningless. */
export async function readBootId(): Promise<string> {
  if (process.platform === "linux") return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const { stdout } = await promisify(execFile)("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"]);
  return stdout.trim();
}

/** `cmdline` and `stat` are world-readable, while `cwd` and `exe` need a capability that root in a container lacks. */
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
    return undefined; // it ended meanwhile
  }
}

function readLinks(pid: number): ProcessLinks | undefined {
  try {
    const parsed = parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    if (parsed === undefined || parsed.zombie) return undefined;
    const { parentPid, sessionId, startTime, name } = parsed;
    return { pid, parentPid, sessionId, startTime, name };
  } catch {
    return undefined; // it ended meanwhile
  }
}

export type ProcessStat = Omit<ProcessLinks, "pid"> & {
  readonly zombie: boolean;
  readonly cpuMs: number;
};

/** The unit of times in /proc, independent of the kernel's own. */
const MS_PER_TICK = 10;

/**
 * Parses proc(5) stat: fields 2 (name), 3 (state), 4 (parent), 6 (session), 14 and 15 (CPU time), 20 (threads), 22
 * (start time).
 */
export function parseStat(line: string): ProcessStat | undefined {
  // The name is in parentheses and may contain any character.
  const nameEnd = line.lastIndexOf(")");
  const [state = "", parent, , session, ...rest] = line.slice(nameEnd + 2).split(" ");
  const threads = Number(rest[13]);
  const startTime = rest[15];
  if (startTime === undefined) return undefined;
  return {
    name: line.slice(line.indexOf("(") + 1, nameEnd),
    // The main thread may have ended while other threads still run and hold the process's files.
    zombie: (state === "Z" && threads <= 1) || state === "X",
    parentPid: Number(parent),
    sessionId: Number(session),
    cpuMs: (Number(rest[7]) + Number(rest[8])) * MS_PER_TICK,
    startTime,
  };
}

const factColumns = "pid=,uid=,stat=,lstart=,command=";
const linkColumns = "pid=,ppid=,pgid=,stat=,lstart=,ucomm=";

async function listByPs(selection: readonly string[]): Promise<ProcessFacts[]> {
  return (await runPs(selection, factColumns)).flatMap((line) => parsePsLine(line) ?? []);
}

async function runPs(selection: readonly string[], columns: string): Promise<string[]> {
  // ps exits with status 1 if it selects nothing.
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
