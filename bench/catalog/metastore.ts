import { pino } from "pino";
import type { Client, ClientConfig } from "pg";
import { attachStore } from "../../server/src/db/open-store.ts";
import { connectMetastore } from "../../server/test/support/account-metastore.ts";
import type { BenchHeadgate } from "../headgate.ts";
import { sqlCommand } from "../warm/warm-server.ts";

/** Connects to the database of the first account's metastore, to seed it and to measure the baseline. */
export async function openMetastore(headgate: BenchHeadgate): Promise<Client> {
  await headgate.run(sqlCommand("show schemas"));
  const { id: accountId } = await headgate.call<{ id: number }>("GET", "/account");
  return connectMetastore({ connection: await connectionOf(headgate), dataDir: headgate.dataDir, accountId });
}

/** The connection to the product's own database. */
export async function connectionOf({ dataDir }: BenchHeadgate): Promise<ClientConfig> {
  const { connection } = await attachStore({
    databaseUrl: null,
    dataDir,
    cacheDir: dataDir,
    log: pino({ level: "silent" }),
    progress: () => undefined,
  });
  return connection;
}
