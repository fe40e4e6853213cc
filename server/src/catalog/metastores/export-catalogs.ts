import type { Client } from "pg";
import type { AttachDatabase, AttachedDatabase } from "../../db/export/attached-database.ts";
import { Fault } from "../../lib/fault.ts";
import type { KeyRing } from "../../lib/key-ring.ts";
import type { MetastoreDatabases } from "./metastore-databases.ts";
import { openSecret } from "./metastore-secrets.ts";
import { listMetastores, readPassword } from "./store/export.ts";
import { isEmptyDatabase } from "./store/metastore-database.ts";

/** The catalogs that go into an export, each under its account's id. */
export async function exportedCatalogs(databases: MetastoreDatabases, product: Client): Promise<AttachedDatabase[]> {
  const made = new Set(await databases.list());
  const ids = (await listMetastores(product)).filter((id) => made.has(id));
  return ids.map((id) => ({ name: String(id), connect: () => databases.connect(id) }));
}

/** `keys`: those of the export, as the rows are. */
export function importedCatalogs(databases: MetastoreDatabases, keys: KeyRing): AttachDatabase {
  return async (name, product) => {
    const accountId = Number(name);
    const sealed = await readPassword(product, accountId);
    if (sealed === undefined) throw new Fault("invalid", `The export has tables of an account ${name} that it lacks.`);
    const { database } = await databases.provide(accountId, openSecret(keys, accountId, "password", sealed));
    const client = await databases.connect(accountId);
    try {
      if (!(await isEmptyDatabase(client))) {
        throw new Fault(
          "conflict",
          `The database ${database} of an earlier installation is there already: drop it, then import again.`,
        );
      }
    } finally {
      await client.end();
    }
    return { name, connect: () => databases.connect(accountId), drop: () => databases.drop(accountId) };
  };
}
