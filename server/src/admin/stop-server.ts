import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import type { Config } from "../config.ts";
import { findDataDirHolder } from "../db/embedded/data-dir-lock.ts";
import { endEverything, type EndedProcesses } from "../end-everything.ts";
import { Fault } from "../lib/fault.ts";
import { findProcessLinks } from "../lib/process-table.ts";
import { openLog } from "../open-log.ts";
import type { Cli } from "./cli.ts";

const LOOK_EVERY_MS = 100;
const PATIENCE_MS = 120_000;

export function stopCommand(cli: Cli): Command {
  return new Command("stop")
    .description("stop the server of the data directory; running commands go on unless --all is given")
    .option("--all", "end programs, warm servers, metastores and standby drivers too, also when no server runs")
    .action(async ({ all }: { all?: true }) => {
      const config = await cli.loadConfig();
      const pid = Number(findDataDirHolder(config.dataDir));
      // One that is starting may not have written its pid yet; to kill(2) 0 means our own process group.
      const isRunning = Number.isSafeInteger(pid) && pid > 0;
      if (!isRunning && all !== true) {
        const hint = "`stop --all` ends the processes that an earlier one left running.";
        throw new Fault("not-found", `No Headgate runs on ${config.dataDir}. ${hint}`);
      }
      if (isRunning) {
        await stopServer(cli, pid, all === true ? "SIGUSR2" : "SIGTERM");
        cli.out(all === true ? "Headgate and all its processes have stopped.\n" : "Headgate has stopped.\n");
      }
      if (all === true) await endLeft(cli, config, isRunning);
    });
}

/** Prints nothing when a server was running and has ended everything itself. */
async function endLeft(cli: Cli, config: Config, hasStopped: boolean): Promise<void> {
  if (!existsSync(config.dataDir)) throw new Fault("not-found", `There is no data directory ${config.dataDir}.`);
  const left = describe(await endEverything(config, openLog({ ...config, logLevel: "warn" }).log));
  if (left !== "")
    cli.out(`Ended the processes that an earlier Headgate on ${config.dataDir} left running: ${left}.\n`);
  else if (!hasStopped) cli.out(`No Headgate runs on ${config.dataDir}, and no process of an earlier one is left.\n`);
}

function describe({ programs, warmServers, metastores, standbyDrivers, postgresPid }: EndedProcesses): string {
  const some = (count: number, name: string): string[] =>
    count === 0 ? [] : [`${count} ${name}${count === 1 ? "" : "s"}`];
  return [
    ...some(programs, "program"),
    ...some(warmServers, "warm server"),
    ...some(metastores, "metastore"),
    ...some(standbyDrivers, "standby driver"),
    ...(postgresPid === undefined ? [] : [`PostgreSQL (pid ${postgresPid})`]),
  ].join(", ");
}

/** Waits for the process: its data directory is free before it has ended what an earlier one left. */
async function stopServer(cli: Cli, pid: number, signal: "SIGUSR2" | "SIGTERM"): Promise<void> {
  const startTime = (await findProcessLinks(pid))?.startTime;
  process.kill(pid, signal);
  cli.note(`Asked Headgate (pid ${pid}) to stop.`);
  const limit = performance.now() + PATIENCE_MS;
  while (startTime !== undefined && (await findProcessLinks(pid))?.startTime === startTime) {
    if (performance.now() > limit) throw new Fault("unavailable", `Headgate (pid ${pid}) has not stopped yet.`);
    await delay(LOOK_EVERY_MS);
  }
}
