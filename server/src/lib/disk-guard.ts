import { statfs } from "node:fs/promises";
import { Fault } from "./fault.ts";

/** Refuses writes while the disk of the data directory is nearly full, before the database fails. */
export interface DiskGuard {
  check(): Promise<void>;
  /** Free space in percent, as of the last check. */
  freePercent(): number;
  refusal(): Fault | undefined;
}

export type FreePercent = (path: string) => Promise<number>;

/** `lowPercent` 0 never refuses. */
export function guardDisk(path: string, lowPercent: number, freePercentOf: FreePercent = statFreePercent): DiskGuard {
  let free = 100;
  return {
    async check() {
      free = await freePercentOf(path);
    },
    freePercent: () => free,
    refusal: () =>
      lowPercent > 0 && free < lowPercent
        ? new Fault("unavailable", "The disk is nearly full: writes are refused until the operator frees space.", {
            retryAfterSeconds: 60,
          })
        : undefined,
  };
}

async function statFreePercent(path: string): Promise<number> {
  const { bavail, blocks } = await statfs(path);
  return blocks === 0 ? 100 : (bavail / blocks) * 100;
}
