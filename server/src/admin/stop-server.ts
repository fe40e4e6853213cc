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

const CHECK_EVERY_MS = 100;
const STOP_LIMIT_MS = 120_000;

export function stopCommand(cli: Cli): Command {
  return new Command("stop")
    .description("stop the server of the data directory; running commands continue unless --all is given")
    .option("--all", "also end programs, warm servers, metastores and standby drivers, even if no server is running")
    .action(async ({ all }: { all?: true }) => {
      const config = await cli.loadConfig();
      const pid = Number(findDataDirHolder(config.dataDir));
      // A starting server may not have written its pid yet; for kill(2), pid 0 means our own process group.
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

/** Prints nothing if a server was running and has ended everything itself. */
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

/** Waits for the process to exit, because it releases its data directory before it has ended leftover processes. */
async function stopServer(cli: Cli, pid: number, signal: "SIGUSR2" | "SIGTERM"): Promise<void> {
  const startTime = (await findProcessLinks(pid))?.startTime;
  process.kill(pid, signal);
  cli.note(`Asked Headgate (pid ${pid}) to stop.`);
  const limit = performance.now() + STOP_LIMIT_MS;
  while (startTime !== undefined && (await findProcessLinks(pid))?.startTime === startTime) {
    if (performance.now() > limit)
      throw new Fault("unavailable", `Headgate (pid ${pid}) is still stopping. Try again later.`);
    await delay(CHECK_EVERY_MS);
  }
}
