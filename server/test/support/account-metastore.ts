import { join } from "node:path";
import type { Client, ClientConfig } from "pg";
import { AccountCatalogs } from "../../src/catalog/metastores/account-catalogs.ts";
import { MetastoreDatabases } from "../../src/catalog/metastores/metastore-databases.ts";
import { openDatabase } from "../../src/db/database.ts";
import { openKeyRing } from "../../src/lib/key-ring.ts";
import type { Secret } from "../../src/lib/secret.ts";

/** An account that has already used Spark. */
interface MetastoreOwner {
  /** The connection to the product's own database. */
  readonly connection: ClientConfig;
  readonly dataDir: string;
  readonly accountId: number;
}

/** Connects to the database of the account's metastore, as its role. The caller ends the connection. */
export async function connectMetastore(owner: MetastoreOwner): Promise<Client> {
  const databases = new MetastoreDatabases({ connection: owner.connection, isEmbedded: true });
  return databases.connect(owner.accountId, await metastorePassword(owner));
}

export async function metastorePassword({ connection, dataDir, accountId }: MetastoreOwner): Promise<Secret> {
  const db = openDatabase({ ...connection, max: 1 });
  try {
    const password = await new AccountCatalogs(db.system, openKeyRing(join(dataDir, "keys"))).findPassword(accountId);
    if (password === undefined) throw new Error("no Spark of the account has needed a metastore yet");
    return password;
  } finally {
    await db.close();
  }
}
