/**
 * `npm start` in one process: the database, its migrations, the first account, the server. A stop runs in reverse
 * order: requests drain first, and the database stops last.
 */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { ensureFirstAccount, type FirstAccount } from "./accounts/first-account.ts";
import { addDefaultCluster } from "./clusters/default-cluster.ts";
import { startApp, type App, type AppOptions } from "./app.ts";
import { checkPort, explainListenError, HOLDER_HINT } from "./check-port.ts";
import { adminTokenFile, exposureWarning, type Config } from "./config.ts";
import { lockDataDir } from "./db/embedded/data-dir-lock.ts";
import { migrate, type Migration } from "./db/migrate.ts";
import { openStore, type Store } from "./db/open-store.ts";
import { openDatabase } from "./db/database.ts";
import { Fault } from "./lib/fault.ts";
import { newKey, writeKeys } from "./lib/key-ring.ts";
import type { Log } from "./lib/log.ts";
import { writePrivateFile } from "./lib/private-file.ts";
import { openPort } from "./open-port.ts";
import { removeRunningServer, writeRunningServer } from "./running-server.ts";

export interface Headgate {
  url: string;
  /** Leaves processes that outlive the server running, unless `everything` is set. */
  stop(options?: { everything?: boolean }): Promise<void>;
}

export interface StopSignals {
  /** Stop gracefully; unfinished startup steps are cancelled. */
  stop: AbortSignal;
  /** Stop waiting for clients. */
  hurry: AbortSignal;
  /** Also end the processes that outlive the server. */
  everything: AbortSignal;
}

/**
 * How programs are run, how long their processes outlive the server, where the progress of the set-up is shown, and the
 * inherited listening sockets.
 */
type Programs = Pick<AppOptions, "driver" | "setsUpSpark" | "showProgress" | "orphanSeconds" | "sockets">;

export async function start(
  config: Config,
  log: Log,
  say: (line: string) => void,
  { stop, hurry }: StopSignals,
  programs: Programs = { setsUpSpark: true },
): Promise<Headgate> {
  // Undoes every step even if others fail: a failed drain must not leave the database running.
  const undo = new AsyncDisposableStack();
  try {
    const sockets = programs.sockets ?? [];
    if (sockets.length === 0) await checkPort(config);
    const lock = lockDataDir(config.dataDir);
    undo.defer(() => lock.release());
    removeRunningServer(config.dataDir); // left by a crash
    const port = openPort(config, sockets, log);
    undo.defer(() => port.release());
    const store = await openStore({ ...config, lock, log, progress: say, signal: stop });
    undo.defer(() => store.stop());
    stop.throwIfAborted();
    logMigrations(await migrate(store.connection), log);
    stop.throwIfAborted();
    const first = await prepareFirstRun(config, store);
    mustHaveKeys(config.keyFile);
    if (first !== undefined) sayOperator(first, config, say); // now, because a later step may fail and the next start does not print it
    const serve = async (): Promise<App> =>
      startApp({
        ...programs,
        config,
        connection: store.connection,
        log,
        storeHealthy: () => store.healthy(),
        sockets: await port.sockets(),
        signal: stop,
      });
    const app = await explainListenError(config, serve, HOLDER_HINT);
    let everything = false;
    undo.defer(() => app.stop(hurry, { everything }));
    await port.serve(true);
    undo.defer(() => port.serve(false));
    tellOperators(config, app.url, log);
    undo.defer(() => removeRunningServer(config.dataDir));
    announce(app, first, say);
    return {
      url: app.url,
      stop(options) {
        everything = options?.everything ?? false;
        return undo.disposeAsync();
      },
    };
  } catch (error) {
    await undo.disposeAsync().catch((failure: unknown) => log.error({ err: failure }, "shutdown failed"));
    throw error;
  }
}

/** One line: a first start applies all of them. */
function logMigrations(applied: readonly Migration[], log: Log): void {
  const [first, last] = [applied[0], applied.at(-1)];
  if (first !== undefined && last !== undefined) {
    log.info({ first: first.number, last: last.number }, "migrations applied");
  }
}

async function prepareFirstRun(config: Config, store: Store): Promise<FirstAccount | undefined> {
  const { keyFile, adminEmail, defaultFeatures } = config;
  const db = openDatabase({ ...store.connection, max: 1 });
  try {
    // Called under a lock of the database, so that of several nodes that start at once one creates the keys.
    return await ensureFirstAccount(db, adminEmail, defaultFeatures, addDefaultCluster, (token) => {
      if (!existsSync(keyFile)) {
        mkdirSync(dirname(keyFile), { recursive: true, mode: 0o700 });
        writeKeys(keyFile, [newKey([])]);
      }
      writePrivateFile(adminTokenFile(config), `${token}\n`);
    });
  } finally {
    await db.close();
  }
}

/** Keys are created only for a new installation: an existing one cannot read its secrets without its old keys. */
function mustHaveKeys(keyFile: string): void {
  if (existsSync(keyFile)) return;
  throw new Fault(
    "invalid",
    `HEADGATE_KEY_FILE: ${keyFile} is missing. Restore it: the stored secrets cannot be read without it.`,
  );
}

/** A full disk must not stop a start. */
function tellOperators(config: Config, url: string, log: Log): void {
  try {
    writeRunningServer(config, url);
  } catch (error) {
    log.warn(
      { err: error },
      "running-server.json was not written: admin settings and admin status cannot show this server",
    );
  }
}

function sayOperator({ email, token }: FirstAccount, config: Config, say: (line: string) => void): void {
  say(`First run: the operator is ${email}, the token ${token} (also in ${adminTokenFile(config)}).`);
}

function announce(app: App, first: FirstAccount | undefined, say: (line: string) => void): void {
  const warning = exposureWarning(app.socketUrls);
  if (warning !== null) say(warning);
  if (first !== undefined) say(`Try: curl -H 'X-AUTH-TOKEN: ${first.token}' ${app.url}/api/v2/accounts`);
  say(`Headgate is ready at ${app.url}`);
}
