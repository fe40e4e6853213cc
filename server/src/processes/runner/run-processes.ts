import { opendirSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs";

/** Inspects the processes of one run. The cost depends on their number, not on how many the machine runs. */
export interface RunProcesses {
  list(): RunProcess[];
  /** Size of the files in its /dev/shm; 0 if it shares that of the machine. */
  sharedMemoryBytes(): number;
  /**
   * Size of deleted files on the device that are still open. It yields after every few descriptors. A number of
   * descriptors that no program needs counts as infinite size, because checking them could take hours.
   */
  deletedFileBytes(device: number): Generator<undefined, number>;
  /** For each session id of `list`, a process in the machine's /proc: that of a sandbox is read-only. */
  foldersBySession(): Map<number, string>;
}

export interface RunProcess extends ProcessUsage {
  /** Its folder in /proc, or that of one of its threads if the first one has ended. */
  readonly folder: string;
}

const MAX_DESCRIPTORS = 250_000;
const DESCRIPTORS_PER_STEP = 64;

/**
 * A sandbox has a pid namespace: its own /proc, seen through the root folder of its first process, lists exactly its
 * processes. Without a sandbox the descendants of the first process are listed; processes whose parent has ended are
 * missed.
 */
export function findRunProcesses(pid: number): RunProcesses {
  let first: number | undefined;
  const sandboxRoot = (): string | undefined => {
    first ??= childrenOf(pid).find(leadsNamespace);
    return first === undefined ? undefined : `/proc/${first}/root`;
  };
  const folders = (): string[] => {
    const inside = sandboxRoot();
    if (inside === undefined) return descendants(pid).map((each) => `/proc/${each}`);
    return pidsIn(`${inside}/proc`).map((each) => `${inside}/proc/${each}`);
  };
  const list = (): RunProcess[] => folders().flatMap(readProcess);
  return {
    list,
    sharedMemoryBytes() {
      const inside = sandboxRoot();
      if (inside === undefined) return 0;
      try {
        const { blocks, bfree, bsize } = statfsSync(`${inside}/dev/shm`);
        return (blocks - bfree) * bsize;
      } catch {
        return 0; // the process has just ended
      }
    },
    *deletedFileBytes(device) {
      const found = new Map<number, number>();
      let descriptors = 0;
      for (const { folder } of list()) {
        yield;
        for (const path of descriptorsOf(folder)) {
          if (++descriptors > MAX_DESCRIPTORS) return Infinity;
          if (descriptors % DESCRIPTORS_PER_STEP === 0) yield;
          addDeleted(found, path, device);
        }
      }
      return found.values().reduce((sum, bytes) => sum + bytes, 0);
    },
    foldersBySession() {
      sandboxRoot();
      const outside = descendants(first ?? pid).flatMap((each) => {
        const session = /^NSsid:.*?(\d+)$/m.exec(readText(`/proc/${each}/status`) ?? "")?.[1]; // the innermost one
        return session === undefined ? [] : [[Number(session), `/proc/${each}`] as const];
      });
      return new Map(outside.toReversed()); // of several, the first is most likely the one that leads the session
    },
  };
}

/** A process whose first thread has ended shows its memory and descriptors only in the folders of other threads. */
function readProcess(folder: string): RunProcess[] {
  const usage = readStatusFile(folder);
  if (usage === undefined) return [];
  if (!usage.isZombie || usage.threads <= 1) return [{ folder, ...usage }];
  const threads = pidsIn(`${folder}/task`).map((thread) => `${folder}/task/${thread}`);
  for (const thread of threads) {
    const found = readStatusFile(thread);
    if (found?.isZombie === false) return [{ folder: thread, ...found }];
  }
  return [{ folder, ...usage }];
}

function readStatusFile(folder: string): ProcessUsage | undefined {
  const text = readText(`${folder}/status`);
  return text === undefined ? undefined : parseStatusFile(text);
}

/**
 * More than one number in NSpid means that the process is in a nested namespace. Until its sandbox is complete it still
 * has our root folder, whose /proc lists the whole machine; it is on the same device as ours.
 */
function leadsNamespace(pid: number): boolean {
  const text = readText(`/proc/${pid}/status`) ?? "";
  if (!/^NSpid:\t\d+\t\d+/m.test(text)) return false;
  const proc = `/proc/${pid}/root/proc`;
  return readText(`${proc}/1/status`) !== undefined && deviceOf(proc) !== deviceOf("/proc");
}

function deviceOf(path: string): number | undefined {
  try {
    return statSync(path).dev;
  } catch {
    return undefined; // the process has just ended
  }
}

function descendants(pid: number): number[] {
  const found = [pid];
  for (const each of found) found.push(...childrenOf(each)); // the array grows during the loop
  return found;
}

function childrenOf(pid: number): number[] {
  return pidsIn(`/proc/${pid}/task`).flatMap((thread) =>
    (readText(`/proc/${pid}/task/${thread}/children`) ?? "").split(" ").filter(Boolean).map(Number),
  );
}

/** In ascending order, so that a program's first process comes first. */
function pidsIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => /^\d+$/.test(name));
    return names.sort((one, other) => Number(one) - Number(other));
  } catch {
    return []; // the process has just ended
  }
}

/** A generator, because a process may have very many. None if the user's rights do not allow to read them. */
function* descriptorsOf(folder: string): Generator<string, void> {
  try {
    const opened = opendirSync(`${folder}/fd`);
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield `${folder}/fd/${entry.name}`;
    } finally {
      opened.closeSync();
    }
  } catch {
    // the process has just ended
  }
}

function addDeleted(found: Map<number, number>, path: string, device: number): void {
  try {
    const { dev, ino, nlink, blocks } = statSync(path);
    if (dev === device && nlink === 0) found.set(ino, blocks * 512);
  } catch {
    // closed meanwhile, or not a file
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // the process has just ended
  }
}

/** The resources of one process according to proc(5). */
interface ProcessUsage {
  /** Session id in the process's own pid namespace. */
  readonly session: number;
  readonly threads: number;
  /** Private memory, memory shared with other processes of the run, page tables; pages of files are not counted. */
  readonly memoryBytes: number;
  readonly pageTableBytes: number;
  /** At least the number of its descriptors. */
  readonly descriptorSlots: number;
  /** Has no lines about memory. */
  readonly isZombie: boolean;
}

/** Parses /proc/<pid>/status. */
function parseStatusFile(text: string): ProcessUsage {
  const pageTableBytes = field(text, "VmPTE") * 1024;
  const pagesKiB = field(text, "RssAnon") + field(text, "RssShmem") + field(text, "VmSwap");
  return {
    session: field(text, "NSsid"),
    threads: field(text, "Threads"),
    memoryBytes: pagesKiB * 1024 + pageTableBytes,
    pageTableBytes,
    descriptorSlots: field(text, "FDSize"),
    isZombie: text.includes("\nState:\tZ"),
  };
}

interface ProportionalUse {
  readonly privateBytes: number;
  readonly sharedMemoryBytes: number;
}

/** Parses /proc/<pid>/smaps_rollup, where a page that n processes share counts 1/n for each. */
export function parseRollup(text: string): ProportionalUse {
  return {
    privateBytes: (field(text, "Pss_Anon") + field(text, "SwapPss")) * 1024,
    sharedMemoryBytes: field(text, "Pss_Shmem") * 1024,
  };
}

function field(text: string, name: string): number {
  const at = text.indexOf(`\n${name}:`);
  return at < 0 ? 0 : Number.parseInt(text.slice(at + name.length + 2, at + name.length + 32), 10) || 0;
}
