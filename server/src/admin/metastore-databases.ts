import { MetastoreDatabases } from "../catalog/metastores/metastore-databases.ts";
import type { Store } from "../db/open-store.ts";

export function metastoreDatabases({ connection, kind }: Store): MetastoreDatabases {
  return new MetastoreDatabases({ connection, isEmbedded: kind === "embedded" });
}
