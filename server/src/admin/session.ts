import { existsSync } from "node:fs";
import { join } from "node:path";
import { firstAccountId } from "../accounts/store/operator.ts";
import type { Config } from "../config.ts";
import { openDatabase, type Database } from "../db/database.ts";
import { operatorWork } from "../db/work-limits.ts";
import { migrate, migrationState } from "../db/migrate.ts";
import { attachStore, type Store } from "../db/open-store.ts";
import { Fault } from "../lib/fault.ts";
import { openLog } from "../open-log.ts";
import type { Cli } from "./cli.ts";
import { findAccount, hasSchema, type AccountName } from "./store.ts";

/** A command's access to the data, with or without a running server. */
export interface Session {
  config: Config;
  store: Store;
  db: Database;
}

export interface SessionOptions {
  /** Creates an installation if there is none; otherwise a mistyped HEADGATE_DATA_DIR would leave an empty one. */
  mayCreate?: true;
}

export async function withSession<T>(
  cli: Cli,
  work: (session: Session) => Promise<T>,
  { mayCreate }: SessionOptions = {},
): Promise<T> {
  const config = await cli.loadConfig();
  if (mayCreate !== true && config.databaseUrl === null && !hasCluster(config.dataDir)) throw noInstallation(config);
  const { log } = openLog({ ...config, logLevel: "warn" });
  const store = await attachStore({ ...config, log, progress: (line) => cli.note(line) });
  const unguard = stopOnSignal(store);
  const db = openDatabase({ ...store.connection, application_name: "headgate-admin" }, { work: operatorWork });
  try {
    if (!(await hasSchema(db.system))) {
      if (mayCreate !== true) throw noInstallation(config);
      await migrate(store.connection);
    }
    await assertOurVersion(db);
    return await work({ config, store, db });
  } finally {
    await db.close();
    unguard();
    await store.stop();
  }
}

function hasCluster(dataDir: string): boolean {
  return existsSync(join(dataDir, "postgres", "data", "PG_VERSION"));
}

function noInstallation({ databaseUrl, dataDir }: Config): Fault {
  return new Fault(
    "not-found",
    `There is no installation in ${databaseUrl === null ? dataDir : "the database of DATABASE_URL"} yet: ` +
      "start the server (npm start), import an export, or create the first account with account-create.",
  );
}

/** Refuses another version: a command must not migrate the database of a running server as a side effect. */
async function assertOurVersion(db: Database): Promise<void> {
  const { applied, known } = await migrationState(db.system);
  if (applied === known) return;
  throw new Fault(
    "conflict",
    `The database is at migration ${applied}, but this version of Headgate knows ${known}: ` +
      (applied < known ? "restart the server with this version first." : "use the version that the server runs."),
  );
}

/** Ctrl-C must not leave a PostgreSQL running that this command started. */
function stopOnSignal(store: Store): () => void {
  const stop = (): void => {
    void store.stop().finally(() => process.exit(130));
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  return () => process.off("SIGINT", stop).off("SIGTERM", stop);
}

export async function requireFirstAccount({ db }: Session): Promise<number> {
  const id = await firstAccountId(db.system);
  if (id === undefined) throw new Fault("not-found", "There is no account yet: create the first with account-create.");
  return id;
}

export async function requireAccount({ db }: Session, accountId: number): Promise<AccountName> {
  const account = await findAccount(db.system, accountId);
  if (account === undefined)
    throw new Fault("not-found", `There is no account ${accountId}; the command accounts lists them.`);
  return account;
}
