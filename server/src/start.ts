import { closeSync, existsSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ensureFirstAccount, type FirstAccount } from "./accounts/first-account.ts";
import { startApp, type App } from "./app.ts";
import { exposureWarning, type Config } from "./config.ts";
import { lockDataDir } from "./db/embedded/data-dir-lock.ts";
import { migrate } from "./db/migrate.ts";
import { openStore, type Store } from "./db/open-store.ts";
import { openDatabase } from "./db/database.ts";
import { Fault } from "./lib/fault.ts";
import { newKey, writeKeys } from "./lib/key-file.ts";
import type { Log } from "./lib/log.ts";

/**
 * `npm start` in one process: the store, its migrations, the first account, the server. Stopping goes the other way:
 * requests drain, then the database ends last.
 */
export interface Headgate {
  url: string;
  stop(): Promise<void>;
}

export async function start(config: Config, log: Log, say: (line: string) => void): Promise<Headgate> {
  const lock = lockDataDir(config.dataDir);
  const undo: (() => Promise<void> | void)[] = [() => lock.release()];
  const unwind = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    const store = await openStore({ ...config, lock, log, progress: say });
    undo.push(() => store.stop());
    for (const { number, name } of await migrate(store.connection)) log.info({ number, name }, "migration applied");
    const first = await prepareFirstRun(config, store);
    const app = await listen(config, store, log);
    undo.push(() => app.stop());
    announce(app, first, config, say);
    return { url: app.url, stop: unwind };
  } catch (error) {
    await unwind();
    throw error;
  }
}

async function prepareFirstRun(config: Config, store: Store): Promise<FirstAccount | undefined> {
  const db = openDatabase({ ...store.connection, max: 1 });
  try {
    await ensureKeyFile(config.keyFile, async () => {
      const rows = await db.system.query("select 1 from account limit 1");
      return rows.length === 0;
    });
    return await ensureFirstAccount(db, config.adminEmail, config.defaultFeatures, (token) => {
      writeSecretFile(adminTokenFile(config), `${token}\n`);
    });
  } finally {
    await db.close();
  }
}

/** A new key for a new installation only: without its old keys an existing one could not read its own secrets. */
async function ensureKeyFile(file: string, isNewInstallation: () => Promise<boolean>): Promise<void> {
  if (existsSync(file)) return;
  if (!(await isNewInstallation())) {
    throw new Fault(
      "invalid",
      `HEADGATE_KEY_FILE: ${file} is missing. Restore it: the stored secrets cannot be read without it.`,
    );
  }
  writeKeys(file, [newKey([])]);
}

function adminTokenFile({ dataDir }: Config): string {
  return join(dataDir, "admin-token");
}

function writeSecretFile(file: string, text: string): void {
  const handle = openSync(file, "w", 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

async function listen(config: Config, store: Store, log: Log): Promise<App> {
  try {
    return await startApp({ config, connection: store.connection, log, storeHealthy: () => store.healthy() });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") {
      throw new Fault(
        "invalid",
        `HEADGATE_PORT ${config.port} is taken on ${config.host}: stop what uses it, or set another port.`,
      );
    }
    if (code === "EACCES" || code === "EADDRNOTAVAIL") {
      throw new Fault(
        "invalid",
        `HEADGATE_HOST/HEADGATE_PORT: cannot listen on ${config.host}:${config.port} (${code}).`,
      );
    }
    throw error;
  }
}

function announce(app: App, first: FirstAccount | undefined, config: Config, say: (line: string) => void): void {
  const warning = exposureWarning(config);
  if (warning !== null) say(warning);
  if (first !== undefined) {
    say(
      `First run: the operator is ${first.email}, the token ${first.token} (also in ${adminTokenFile(config)}). Try:`,
    );
    say(`  curl -H 'X-AUTH-TOKEN: ${first.token}' ${app.url}/api/v2/accounts`);
  }
  say(`Headgate is ready at ${app.url}`);
}
