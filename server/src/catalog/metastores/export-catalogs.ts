import type { Client } from "pg";
import type { AttachDatabase, AttachedDatabase } from "../../db/export/attached-database.ts";
import { Fault } from "../../lib/fault.ts";
import type { KeyRing } from "../../lib/key-ring.ts";
import type { Secret } from "../../lib/secret.ts";
import type { MetastoreDatabases } from "./metastore-databases.ts";
import { openSecret } from "./metastore-secrets.ts";
import { listMetastores, readPassword } from "./store/metastore.ts";
import { isEmptyDatabase } from "./store/metastore-database.ts";

/** Copying a large table may take arbitrarily long. */
const NO_LIMIT = { limitMs: null };

/** The catalogs in an export, named by the account's id. `openKeys` returns the keys that the rows are sealed with. */
export async function exportedCatalogs(
  databases: MetastoreDatabases,
  product: Client,
  openKeys: () => KeyRing,
): Promise<AttachedDatabase[]> {
  const existing = new Set(await databases.list());
  const ids = (await listMetastores(product)).filter((id) => existing.has(id));
  return ids.map((id) => ({
    name: String(id),
    connect: async () => databases.connect(id, await passwordOf(product, id, openKeys()), NO_LIMIT),
  }));
}

/** `keys` are those of the export, with which the rows are sealed. */
export function importedCatalogs(databases: MetastoreDatabases, keys: KeyRing): AttachDatabase {
  return async (name, product) => {
    const accountId = Number(name);
    const password = await passwordOf(product, accountId, keys);
    const { database } = await databases.provide(accountId, password);
    const client = await databases.connect(accountId, password);
    try {
      if (!(await isEmptyDatabase(client))) {
        throw new Fault(
          "conflict",
          `The database ${database} already exists and is not empty, perhaps from an earlier installation: drop it, then import again.`,
        );
      }
    } finally {
      await client.end();
    }
    return {
      name,
      connect: () => databases.connect(accountId, password, NO_LIMIT),
      drop: () => databases.drop(accountId),
    };
  };
}

async function passwordOf(product: Client, accountId: number, keys: KeyRing): Promise<Secret> {
  const sealed = await readPassword(product, accountId);
  if (sealed !== undefined) return openSecret(keys, accountId, "password", sealed);
  throw new Fault("invalid", `The export contains tables of account ${accountId}, but not the account itself.`);
}
