import { endMetastores } from "./catalog/metastores/open-metastores.ts";
import { endProgramsBelow } from "./commands/programs/end-programs.ts";
import { endStandbys } from "./commands/programs/standby-driver.ts";
import { StopMark } from "./commands/queue/stop-mark.ts";
import { endServers } from "./commands/warm-servers/server-record.ts";
import type { Config } from "./config.ts";
import { lockDataDir, type DataDirLock } from "./db/embedded/data-dir-lock.ts";
import { stopLeftover } from "./db/embedded/leftover.ts";
import { endPortHolder } from "./processes/port-holder/port-holder.ts";
import type { Log } from "./lib/log.ts";

/** How many processes of each kind were ended. */
export interface EndedProcesses {
  readonly programs: number;
  readonly warmServers: number;
  readonly metastores: number;
  readonly standbyDrivers: number;
  /** Undefined if no embedded PostgreSQL was running. */
  readonly postgresPid: number | undefined;
}

/**
 * Ends the processes that an earlier Headgate left running on this node. It needs no database: the next start updates
 * the rows (`stop-mark.ts`). Fails while a Headgate holds the data directory.
 */
export async function endEverything(
  config: Pick<Config, "dataDir" | "databaseUrl">,
  log: Log,
): Promise<EndedProcesses> {
  const lock = lockDataDir(config.dataDir);
  try {
    return await endUnderLock(config, lock, log);
  } finally {
    lock.release();
  }
}

async function endUnderLock(
  { dataDir, databaseUrl }: Pick<Config, "dataDir" | "databaseUrl">,
  lock: DataDirLock,
  log: Log,
): Promise<EndedProcesses> {
  const mark = new StopMark(dataDir);
  const existed = mark.exists;
  mark.write(); // first, so that the next start settles everything that is ended below
  const standbyDrivers = await endStandbys(dataDir);
  const warmServers = await endServers(dataDir);
  const metastores = await endMetastores(dataDir);
  const programs = await endProgramsBelow(dataDir);
  await endPortHolder(dataDir); // after the programs, which could take the port
  const postgresPid = databaseUrl === null ? await stopLeftover(lock, log) : undefined;
  if (programs + warmServers === 0 && !existed) mark.remove();
  return { programs, warmServers, metastores, standbyDrivers, postgresPid };
}
