import { accountRefresh } from "./catalog/refresh/refresh-account-table.ts";
import { allKinds, type KindParts } from "./commands/kinds/all-kinds.ts";
import type { CommandKind } from "./commands/kinds/command-kind.ts";
import { commandKinds, type CommandKinds } from "./commands/kinds/command-kinds.ts";
import { GRACE_SECONDS } from "./commands/programs/program-executor.ts";
import { StandbyDrivers, type StandbyOptions } from "./commands/programs/standby-drivers.ts";
import type { NodeParts } from "./compose-node.ts";
import { leaseOf, type Sparks } from "./compose-sparks.ts";
import { resultRenderer } from "./engines/arrow-result/result-renderer.ts";
import { monotonicMs } from "./engines/runner/monotonic.ts";
import { bytesPerMiB } from "./lib/size-text.ts";

export type ListKinds = (parts: KindParts) => CommandKind[];

export interface KindsOfNode {
  readonly commandKinds: CommandKinds;
  /** Undefined: no driver waits on this node. */
  readonly standbys: StandbyDrivers | undefined;
}

/** `listKinds` replaces the kinds that this version knows. */
export function composeKinds(
  node: NodeParts,
  sparks: Sparks,
  listKinds: ListKinds | undefined,
  held: AsyncDisposableStack,
): KindsOfNode {
  const { config, log, eventLogs, storage } = node;
  const { driver, sandbox, allowance, orphan, sql } = sparks;
  const { dataDir, leaseSeconds, timeoutCheckSeconds: checkSeconds } = config;
  const logLimitBytes = config.logLimitMiB * bytesPerMiB;
  const limits = { ...leaseOf(config), leaseSeconds, checkSeconds, logLimitBytes };
  const programs = { dataDir, driver, sandbox, allowance };
  const standbys = openStandbys({
    ...programs,
    limits: { ...limits, graceSeconds: GRACE_SECONDS },
    orphan,
    log,
    now: monotonicMs,
  });
  const renderer = held.adopt(resultRenderer(), (each) => each.stop());
  const refreshTable = accountRefresh({ ...sparks, storage });
  const kinds = (listKinds ?? allKinds)({
    ...programs,
    ...limits,
    standbys,
    sql,
    refreshTable,
    eventLogs,
    renderer,
    log,
  });
  return { commandKinds: commandKinds(kinds), standbys };
}

/** A running process can only be given to an attempt where a sandbox hides which folder that is. */
function openStandbys(options: StandbyOptions): StandbyDrivers | undefined {
  const isPossible = options.driver.standby !== undefined && options.sandbox.kind === "bubblewrap";
  return isPossible ? new StandbyDrivers(options) : undefined;
}
