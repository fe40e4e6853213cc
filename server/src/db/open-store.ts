import type { ClientConfig } from "pg";
import type { Log } from "../lib/log.ts";
import type { Secret } from "../lib/secret.ts";
import { attachEmbeddedPostgres } from "./embedded/attach-embedded-postgres.ts";
import type { DataDirLock } from "./embedded/data-dir-lock.ts";
import { checkDatabaseUrl } from "./check-database-url.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded/embedded-postgres.ts";

/** The database: the embedded PostgreSQL, or the one of DATABASE_URL. */
export interface Store {
  readonly kind: "embedded" | "external";
  readonly connection: ClientConfig;
  /** Whether the embedded server is up; always true for an external one. */
  healthy(): boolean;
  /** Stops the embedded server if this process started it. */
  stop(): Promise<void>;
}

export interface StoreOptions {
  databaseUrl: Secret | null;
  cacheDir: string;
  log: Log;
  progress: (line: string) => void;
  /** Cancels the wait for an embedded server that does not accept connections yet. */
  signal?: AbortSignal;
}

/** For the server, which holds the lock of the data directory. */
export async function openStore(options: StoreOptions & { lock: DataDirLock }): Promise<Store> {
  const { databaseUrl, log } = options;
  if (databaseUrl !== null) return externalStore(databaseUrl, (warning) => log.warn(warning));
  return embeddedStore(await startEmbeddedPostgres(options));
}

/** For commands next to the server: uses a running PostgreSQL, or starts one for the duration of the command. */
export async function attachStore(options: StoreOptions & { dataDir: string }): Promise<Store> {
  if (options.databaseUrl !== null) return externalStore(options.databaseUrl);
  return embeddedStore(await attachEmbeddedPostgres(options));
}

async function externalStore(databaseUrl: Secret, warn?: (text: string) => void): Promise<Store> {
  return {
    kind: "external",
    connection: await checkDatabaseUrl(databaseUrl, warn),
    healthy: () => true,
    stop: () => Promise.resolve(),
  };
}

function embeddedStore(postgres: EmbeddedPostgres): Store {
  const { socketDir, port, user, password, database } = postgres;
  return {
    kind: "embedded",
    connection: { host: socketDir, port, user, password, database },
    healthy: () => postgres.healthy,
    stop: () => postgres.stop(),
  };
}
