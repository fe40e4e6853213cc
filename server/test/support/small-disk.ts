import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A separate file system that is small enough to be filled. */
export interface SmallDisk {
  /** False if mounting is not allowed: without root, or in a container. Then nothing else here may be used. */
  readonly isMounted: boolean;
  readonly dataDir: string;
  readonly freeBytes: () => number;
  /** Fills the disk with a file, up to `leaveBytes`. */
  readonly fill: (leaveBytes?: number) => void;
  /** Removes that file. */
  readonly clear: () => void;
  readonly unmount: () => void;
}

const BLOCK_BYTES = 4096;

export function mountSmallDisk(sizeMiB: number): SmallDisk {
  const base = mkdtempSync(join(tmpdir(), "headgate-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMiB}m,mode=711`, "tmpfs", base]);
  const isMounted = mounted.status === 0;
  const dataDir = join(base, "data");
  if (isMounted) mkdirSync(dataDir, { mode: 0o711 });
  else rmSync(base, { recursive: true }); // skipped tests do not clean up
  const ballast = join(base, "ballast");
  const freeBytes = (): number => {
    const { bavail, bsize } = statfsSync(base);
    return bavail * bsize;
  };
  return {
    isMounted,
    dataDir,
    freeBytes,
    fill(leaveBytes = 0) {
      if (!isMounted) throw new Error("this would fill the machine's own disk");
      const descriptor = openSync(ballast, "a");
      while (freeBytes() > leaveBytes) writeSync(descriptor, Buffer.alloc(BLOCK_BYTES));
      closeSync(descriptor);
    },
    clear: () => rmSync(ballast, { force: true }),
    unmount() {
      // A lazy unmount, because a failed test may have left processes.
      if (isMounted) spawnSync("umount", ["-l", base]);
      rmSync(base, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}
