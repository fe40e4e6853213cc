import { randomBytes } from "node:crypto";
import { Client, type ClientConfig } from "pg";
import { inject } from "vitest";
import { TEMPLATE } from "./global-setup.ts";

/** A database of a test file or of the files that share a server, cloned from the migrated template. */
export interface TestDatabase {
  connection: ClientConfig & { host: string; port: number; user: string; password: string; database: string };
  drop(): Promise<void>;
}

export async function cloneDatabase(template = TEMPLATE): Promise<TestDatabase> {
  const { host, port, user, password } = inject("postgres");
  // Longer than the product's five seconds, because a paused machine is not an outage.
  const server = { host, port, user, password, connectionTimeoutMillis: 60_000 };
  const database = `test_${randomBytes(6).toString("hex")}`;
  await asMaintenance(server, `create database ${database} template ${template} strategy file_copy`);
  return {
    connection: { ...server, database },
    drop: () =>
      asMaintenance(
        server,
        // Not "with (force)", which is refused while an autovacuum worker, a superuser's process, uses the database. It
        // waits until the sessions are gone, because a drop waits for five seconds at most.
        `select pg_terminate_backend(pid, 60000) from pg_stat_activity
          where datname = '${database}' and usename = current_user`,
        `drop database if exists ${database}`,
      ),
  };
}

/**
 * One session for all databases of this worker, because a new one takes longer than the statement. It ends with the
 * worker.
 */
let maintenance: Client | undefined;

async function asMaintenance(server: ClientConfig, ...statements: string[]): Promise<void> {
  maintenance ??= await connect({ ...server, database: "headgate" });
  for (const sql of statements) await maintenance.query(sql);
}

async function connect(config: ClientConfig): Promise<Client> {
  const client = new Client(config);
  client.on("error", () => (maintenance = undefined));
  await client.connect();
  return client;
}
