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
}

export interface RunProcess extends ProcessUsage {
  /** Its folder in /proc. */
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
  let root: string | undefined;
  const sandboxRoot = (): string | undefined => {
    root ??= childrenOf(pid).flatMap(rootOfNamespace)[0];
    return root;
  };
  const folders = (): string[] => {
    const inside = sandboxRoot();
    if (inside === undefined) return descendants(pid).map((each) => `/proc/${each}`);
    return pidsIn(`${inside}/proc`).map((each) => `${inside}/proc/${each}`);
  };
  return {
    list: () => folders().flatMap(readProcess),
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
      for (const folder of folders()) {
        yield;
        for (const path of descriptorsOf(folder)) {
          if (++descriptors > MAX_DESCRIPTORS) return Infinity;
          if (descriptors % DESCRIPTORS_PER_STEP === 0) yield;
          addDeleted(found, path, device);
        }
      }
      return found.values().reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}

function readProcess(folder: string): RunProcess[] {
  const text = readText(`${folder}/status`);
  return text === undefined ? [] : [{ folder, ...parseStatusFile(text) }];
}

/**
 * More than one number in NSpid means that the process is in a nested namespace. Until its sandbox is complete it still
 * has our root folder, whose /proc lists the whole machine; it is on the same device as ours.
 */
function rootOfNamespace(pid: number): string[] {
  const text = readText(`/proc/${pid}/status`) ?? "";
  if (!/^NSpid:\t\d+\t\d+/m.test(text)) return [];
  const root = `/proc/${pid}/root`;
  const isOwn = readText(`${root}/proc/1/status`) !== undefined && deviceOf(`${root}/proc`) !== deviceOf("/proc");
  return isOwn ? [root] : [];
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

function pidsIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return []; // the process has just ended
  }
}

/** A generator, because a process may have very many. */
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
  /** Private memory and memory shared with other processes of the run; pages of files are not counted. */
  readonly memoryBytes: number;
}

/** Parses /proc/<pid>/status. A zombie has no lines about memory. */
function parseStatusFile(text: string): ProcessUsage {
  return {
    session: field(text, "NSsid"),
    threads: field(text, "Threads"),
    memoryBytes: (field(text, "RssAnon") + field(text, "RssShmem") + field(text, "VmSwap")) * 1024,
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
