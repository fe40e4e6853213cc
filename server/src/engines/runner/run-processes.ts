import { opendirSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import { parseStatusFile, type ProcessUse } from "./process-use.ts";

/** Looks at the processes of one run, at a cost that grows with them and not with the machine's. */
export interface RunProcesses {
  list(): RunProcess[];
  /** What the files of its /dev/shm take; 0 where it shares the machine's. */
  sharedMemoryBytes(): number;
  /**
   * Of files that have lost their last name and are still open, on that device. It stops after every few descriptors, and
   * more of them than any program needs count as endless: a program could have as many as take hours to look at.
   */
  deletedFileBytes(device: number): Generator<undefined, number>;
}

export interface RunProcess extends ProcessUse {
  /** Its folder in /proc. */
  readonly folder: string;
}

const MAX_DESCRIPTORS = 250_000;
const DESCRIPTORS_PER_STEP = 64;

/**
 * A sandbox has a pid namespace: its own /proc, seen through the root folder of its first process, lists its processes
 * and no others. Without one, the descendants of the first process are looked for; those that lost their parents are
 * not found.
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
        return 0; // it has just ended
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
 * More than one number in NSpid: the process lives in a namespace below ours. While its sandbox is being made it still
 * has our root folder, and /proc there lists the whole machine: that is the same file system as ours.
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
    return undefined; // it has just ended
  }
}

function descendants(pid: number): number[] {
  const found = [pid];
  for (const each of found) found.push(...childrenOf(each)); // grows while it is walked
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
    return []; // it has just ended
  }
}

/** One after the other: a process may have very many. */
function* descriptorsOf(folder: string): Generator<string, void> {
  try {
    const opened = opendirSync(`${folder}/fd`);
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield `${folder}/fd/${entry.name}`;
    } finally {
      opened.closeSync();
    }
  } catch {
    // it has just ended
  }
}

function addDeleted(found: Map<number, number>, path: string, device: number): void {
  try {
    const { dev, ino, nlink, blocks } = statSync(path);
    if (dev === device && nlink === 0) found.set(ino, blocks * 512);
  } catch {
    // closed meanwhile, or no file
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // it has just ended
  }
}
