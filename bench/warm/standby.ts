import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { comparePython } from "../commands/cold-start.ts";
import type { BenchHeadgate } from "../headgate.ts";

/** A Python command that runs in a standby driver, and the same program by hand. */
export async function benchStandby(): Promise<void> {
  await comparePython("a Python command by standby", {}, untilDriverWaits);
}

/** Standby drivers have a low priority, so the next one becomes ready only after the program that runs by hand. */
async function untilDriverWaits({ dataDir }: BenchHeadgate): Promise<void> {
  const pattern = join(dataDir, "accounts/*/standby/*/status.json");
  while (!globSync(pattern).some((file) => readFileSync(file, "utf8").includes('"waiting"'))) await delay(100);
}
