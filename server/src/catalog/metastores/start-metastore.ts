import { createHash } from "node:crypto";
import type { Metastore } from "../../engines/hive-metastore/metastore.ts";
import { contributionDigest, mergeContributions, type Contribution } from "../../engines/spark-home/contribution.ts";
import type { Secret } from "../../lib/secret.ts";
import type { AccountCatalogs, OwnCatalog } from "./account-catalogs.ts";
import {
  forgetPort,
  isPortFree,
  metastoreFolders,
  newProcessName,
  randomPort,
  readStoredPort,
  storePort,
} from "./metastore-folder.ts";
import type { OpenSecrets } from "./metastore-secrets.ts";

type Controls = "ready" | "isAlive" | "isHealthy" | "ended" | "stop";

/** One process with its folder, whether it runs or not. */
export interface MetastoreProcess extends Pick<Metastore, Controls> {
  /** May be called once. Resolves when the process is being started; `ready` resolves when it answers. */
  startFor(launch: MetastoreLaunch): Promise<void>;
}

export interface MetastoreLaunch {
  readonly accountId: number;
  readonly secrets: OpenSecrets;
  readonly storage: Partial<Contribution>;
  /** Used if it is free; otherwise any port is. */
  readonly port: number;
  /** How long it waits for its first client before it prepares to serve. */
  readonly firstClientWaitMs: number;
}

/** A metastore that Sparks may be given. */
export interface Up {
  readonly process: MetastoreProcess;
  /** Where it listens, or will listen soon. */
  readonly port: number;
  /** Undefined for a process that was adopted: its secret is the stored one. */
  readonly secret: Secret | undefined;
}

export interface MetastoreStart {
  readonly accountId: number;
  readonly storage: Partial<Contribution>;
  /** Settles only when the metastore is ready, because the previous one died early or never became ready. */
  readonly mustBecomeReady: boolean;
  /** The number of processors of this machine. */
  readonly processors: number;
  readonly dataDir: string;
  readonly catalogs: Pick<AccountCatalogs, "renewSecret">;
  readonly openProcess: (folder: string) => MetastoreProcess;
  /** Called with the new secret before the metastore is started with it. */
  readonly onRenewed: (catalog: OwnCatalog) => void;
  /** Aborted when the server stops. */
  readonly signal: AbortSignal;
}

/**
 * The Spark that needs the metastore is started at the same time. With fewer processors both would be slower, and a query
 * that names no table does not need the metastore. So it waits until that Spark connects, or until it must have started.
 */
const MANY_PROCESSORS = 4;
const SPARK_START_MS = 8000;

/**
 * Uses the previous port if it is still free; otherwise another port and a new secret. If the port is free, Sparks are
 * started at the same time: they wait for the metastore when a statement names a table.
 */
export async function startMetastore(start: MetastoreStart, catalog: OwnCatalog): Promise<Up> {
  const { accountId, storage, mustBecomeReady, processors, dataDir, openProcess, signal } = start;
  const { secrets } = catalog;
  const digest = metastoreDigest(catalog, storage);
  const stored = await readStoredPort(dataDir, accountId);
  const wanted = stored ?? randomPort();
  const isAwaited = mustBecomeReady || !(await isPortFree(wanted));
  const process = openProcess(metastoreFolders(dataDir).make(accountId, newProcessName(), { version: 1, digest }));
  try {
    const firstClientWaitMs = isAwaited || processors >= MANY_PROCESSORS ? 0 : SPARK_START_MS;
    await process.startFor({ accountId, secrets, storage, port: wanted, firstClientWaitMs });
    const port = isAwaited ? await process.ready(signal) : wanted;
    if (stored === undefined) storePort(dataDir, accountId, port);
    if (port === stored || stored === undefined) return { process, port, secret: secrets.secret };
  } catch (error) {
    // The first error is the one to throw. When the server stops, the next server adopts the process.
    if (!signal.aborted) await process.stop().catch(() => undefined);
    throw error;
  }
  await process.stop();
  const renewed = await changeAddress(start, catalog);
  if (renewed.kind === "external") throw new Error("the account has been given an external metastore meanwhile");
  start.onRenewed(renewed);
  return startMetastore(start, renewed);
}

/**
 * Another process listens on the port that Sparks were given, and they may have shown it the secret. So the next metastore
 * has another secret, and any port. The port is forgotten last: after a crash before that, the next start finds it taken
 * and renews the secret again.
 */
export async function changeAddress(
  { accountId, dataDir, catalogs }: Pick<MetastoreStart, "accountId" | "dataDir" | "catalogs">,
  catalog: OwnCatalog,
): ReturnType<AccountCatalogs["renewSecret"]> {
  const renewed = await catalogs.renewSecret(accountId, catalog);
  forgetPort(dataDir, accountId);
  return renewed;
}

/** Covers everything that shapes the process. */
export function metastoreDigest({ secrets }: OwnCatalog, storage: Partial<Contribution>): string {
  const own = [secrets.password.reveal(), secrets.secret.reveal(), contributionDigest(mergeContributions([storage]))];
  return createHash("sha256").update(JSON.stringify(own)).digest("hex").slice(0, 16);
}
