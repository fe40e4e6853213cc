import { join } from "node:path";
import { pino } from "pino";
import { commandFiles, accountIdentity } from "../../src/commands/execution/command-files.ts";
import type { Executor, CommandRun } from "../../src/commands/execution/executor.ts";
import { programExecutor } from "../../src/commands/programs/program-executor.ts";
import { StandbyDrivers } from "../../src/commands/programs/standby-drivers.ts";
import { monotonicMs } from "../../src/processes/runner/monotonic.ts";
import { UNLIMITED } from "../../src/processes/runner/allowance.ts";
import { findBubblewrap } from "../../src/processes/sandbox/find-bubblewrap.ts";
import { testCacheDir } from "./cache-dir.ts";
import { openSandbox } from "../../src/processes/sandbox/sandbox.ts";
import { stubStandby } from "./stub-standby.ts";

/** The parts of a node that handle standby drivers, without its queue, for tests that stop between two steps. */
export interface StandbyParts {
  readonly standbys: StandbyDrivers;
  readonly executor: Executor;
  readonly run: CommandRun;
}

export const scope = { accountId: 7, clusterId: 1, appId: null };

/** The steps of a hand-over; each includes the previous ones. */
export type Step = "waiting" | "taken" | "prepared" | "spawned" | "ordered";

export async function standbyParts(dataDir: string, programText: string): Promise<StandbyParts> {
  const sandbox = openSandbox("bubblewrap", await findBubblewrap(accountIdentity(scope.accountId), testCacheDir()));
  const driver = stubStandby();
  const limits = { leaseFile: null, leaseSeconds: 600, logLimitBytes: 1_000_000, checkSeconds: 1 };
  const log = pino({ level: "silent" });
  const standbys = new StandbyDrivers({
    dataDir,
    driver,
    sandbox,
    limits: { ...limits, graceSeconds: 5 },
    allowance: UNLIMITED,
    orphan: null,
    log,
    now: monotonicMs,
  });
  const command = {
    id: 3,
    ...scope,
    pool: null,
    kind: "program",
    commandType: "SparkCommand",
    command: {},
    options: null,
    resolvedMacros: null,
  };
  const run = {
    command,
    programText,
    requestId: "r",
    attempt: 1,
    fence: 1,
    timeoutSeconds: 60,
    elapsedSeconds: 0,
    files: commandFiles(dataDir, scope.accountId, command.id).attempt(1),
  };
  return {
    standbys,
    executor: programExecutor({ dataDir, driver, sandbox, standbys, allowance: UNLIMITED, ...limits }),
    run,
  };
}

export const journalOf = (dataDir: string): string =>
  join(dataDir, "accounts", String(scope.accountId), "storage/journal");
