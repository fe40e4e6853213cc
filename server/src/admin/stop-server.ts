import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import { findDataDirHolder } from "../db/embedded/data-dir-lock.ts";
import { Fault } from "../lib/fault.ts";
import type { Cli } from "./cli.ts";

const LOOK_EVERY_MS = 100;
const PATIENCE_MS = 120_000;

export function stopCommand(cli: Cli): Command {
  return new Command("stop")
    .description("stop the server of the data directory; running commands go on unless --all is said")
    .option("--all", "end running commands, warm servers and metastores too")
    .action(async ({ all }: { all?: true }) => {
      const { dataDir } = await cli.loadConfig();
      const pid = Number(findDataDirHolder(dataDir));
      if (!Number.isSafeInteger(pid)) {
        throw new Fault("not-found", `No Headgate runs on ${dataDir}. Start one to end what an earlier one has left.`);
      }
      process.kill(pid, all === true ? "SIGUSR2" : "SIGTERM");
      cli.note(`Asked Headgate (pid ${pid}) to stop.`);
      await ended(dataDir, pid);
      cli.out(all === true ? "Headgate has stopped, and all that it ran.\n" : "Headgate has stopped.\n");
    });
}

async function ended(dataDir: string, pid: number): Promise<void> {
  const limit = performance.now() + PATIENCE_MS;
  while (findDataDirHolder(dataDir) === String(pid)) {
    if (performance.now() > limit) throw new Fault("unavailable", `Headgate (pid ${pid}) has not stopped yet.`);
    await delay(LOOK_EVERY_MS);
  }
}
