import { readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import { parseStatusFile, type ProcessUse } from "./process-use.ts";

/** Looks at the processes of one run, at a cost that grows with them and not with the machine's. */
export interface RunProcesses {
  list(): RunProcess[];
  /** What the files of its /dev/shm take; 0 where it shares the machine's. */
  sharedMemoryBytes(): number;
  /** Of files that have lost their last name and are still open, on that device. */
  deletedFileBytes(device: number): number;
}

export interface RunProcess extends ProcessUse {
  /** Its folder in /proc. */
  readonly folder: string;
}

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
    deletedFileBytes(device) {
      const found = new Map<number, number>();
      for (const folder of folders())
        for (const [inode, bytes] of deletedFiles(folder, device)) found.set(inode, bytes);
      return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
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

function deletedFiles(folder: string, device: number): [inode: number, bytes: number][] {
  return pidsIn(`${folder}/fd`).flatMap((name): [number, number][] => {
    try {
      const { dev, ino, nlink, blocks } = statSync(`${folder}/fd/${name}`);
      return dev === device && nlink === 0 ? [[ino, blocks * 512]] : [];
    } catch {
      return []; // closed meanwhile, or no file
    }
  });
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // it has just ended
  }
}
