import { createHash } from "node:crypto";
import { contributionDigest, mergeContributions, type Contribution } from "../../engines/spark-home/contribution.ts";
import type { Secret } from "../../lib/secret.ts";
import type { AccountCatalogs, OwnCatalog } from "./account-catalogs.ts";
import { keepPort, metastoreFolders, newProcessName, readKeptPort, somePort } from "./metastore-folder.ts";
import type { MetastoreProcess } from "./metastore-process.ts";

/** One that can be connected to. */
export interface Up {
  readonly process: MetastoreProcess;
  readonly port: number;
  /** Undefined: of one that we have found, it is the one that is stored. */
  readonly secret: Secret | undefined;
}

export interface MetastoreStart {
  readonly accountId: number;
  readonly storage: Partial<Contribution>;
  /** It has served before, and not died of its start since. */
  readonly isProven: boolean;
  readonly dataDir: string;
  readonly catalogs: Pick<AccountCatalogs, "renewSecret">;
  readonly openProcess: (folder: string) => MetastoreProcess;
  /** Whoever asks from now on knows this one. */
  readonly onRenewed: (catalog: OwnCatalog) => void;
  /** Aborted: we stop. */
  readonly signal: AbortSignal;
}

/** Where it was before, if nobody else is there now; else elsewhere, and behind another secret. */
export async function startMetastore(start: MetastoreStart, catalog: OwnCatalog): Promise<Up> {
  const { accountId, storage, dataDir, catalogs, openProcess, signal } = start;
  const { secrets } = catalog;
  const digest = metastoreDigest(catalog, storage);
  const kept = await readKeptPort(dataDir, accountId);
  const process = openProcess(metastoreFolders(dataDir).make(accountId, newProcessName(), { version: 1, digest }));
  try {
    await process.startFor({ accountId, secrets, storage, port: kept ?? somePort() });
    // Where it has served before, Sparks need not wait for more than that it listens: they start meanwhile.
    const isKnown = start.isProven && kept !== undefined;
    const port = await (isKnown ? process.listening(signal) : process.ready(signal));
    if (port !== kept) keepPort(dataDir, accountId, port);
    if (port === kept || kept === undefined) return { process, port, secret: secrets.secret };
  } catch (error) {
    // What went wrong first is what is told. When we stop it is left to the next Headgate.
    if (!signal.aborted) await process.stop().catch(() => undefined);
    throw error;
  }
  // Somebody else listens where the account's Sparks went.
  await process.stop();
  const renewed = await catalogs.renewSecret(accountId, catalog);
  if (renewed.kind === "external") throw new Error("the account has got another metastore meanwhile");
  start.onRenewed(renewed);
  return startMetastore(start, renewed);
}

/** Of all that the process is made of. */
export function metastoreDigest({ secrets }: OwnCatalog, storage: Partial<Contribution>): string {
  const own = [secrets.password.reveal(), secrets.secret.reveal(), contributionDigest(mergeContributions([storage]))];
  return createHash("sha256").update(JSON.stringify(own)).digest("hex").slice(0, 16);
}
