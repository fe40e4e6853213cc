import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of its own that is small enough to be filled. */
export interface SmallDisk {
  /** False where nobody may mount: not as root, or in a container. Then nothing else may be asked of it. */
  readonly isMounted: boolean;
  readonly dataDir: string;
  readonly freeBytes: () => number;
  /** With a file of ours, up to so many bytes. */
  readonly fill: (leaveBytes?: number) => void;
  /** Takes that file away. */
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
  else rmSync(base, { recursive: true }); // what is skipped cleans up nothing
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
      // Lazily: what a failed test has left running must not keep it.
      if (isMounted) spawnSync("umount", ["-l", base]);
      rmSync(base, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}
