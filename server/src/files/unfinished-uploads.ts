/**
 * Uploads that a killed server, or a store that went away, has left unfinished. Files of the local storage are written
 * into a folder of ours until they are complete, and a start empties it. For stores elsewhere, a small file in the same
 * folder names what would be left; a periodic task removes it from the store.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AccountStorage } from "../accounts/contract.ts";
import { DAY_MS, type Clock } from "../lib/clock.ts";
import { isRecord } from "../lib/is-record.ts";
import { lazy } from "../lib/lazy.ts";
import { limitConcurrency } from "../lib/limit-concurrency.ts";
import type { Log } from "../lib/log.ts";
import { unfinishedName } from "../object-store/file/list-files.ts";
import type { UnfinishedPut } from "../object-store/object-store.ts";

export interface UnfinishedUploadsOptions {
  /** The staging folder of the local storage. */
  readonly folder: string;
  readonly storage: AccountStorage;
  readonly clock: Clock;
  readonly log: Log;
}

/** Notes that an upload has ended. If it failed, what it left is removed, unless the store has done so already. */
export type EndUpload = (isStored: boolean) => Promise<void>;

const EXTENSION = ".json";
const ACCOUNT_LIMIT_MS = 20_000;
const ACCOUNT_CONCURRENCY = 16;
/** After this time the account's storage is probably no longer the same. */
const FORGET_AFTER_MS = 7 * DAY_MS;

export class UnfinishedUploads {
  readonly #options: UnfinishedUploadsOptions;
  readonly #running = new Set<string>();

  constructor(options: UnfinishedUploadsOptions) {
    this.#options = options;
  }

  /** Removes the incomplete files of an earlier server. Call it before the first upload. */
  async begin(): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(folder)) {
      if (unfinishedName.test(name)) await unlink(join(folder, name));
    }
  }

  async note(accountId: number, unfinished: UnfinishedPut): Promise<EndUpload> {
    const name = `${randomUUID()}${EXTENSION}`;
    const path = join(this.#options.folder, name);
    this.#running.add(name);
    await writeFile(path, JSON.stringify({ accountId, ...unfinished }), { mode: 0o600 });
    return async (isStored) => {
      if (isStored) await unlink(path);
      this.#running.delete(name);
    };
  }

  /** Removes from the stores what uploads that have ended left there. A slow store delays only its own account. */
  async removeLeftovers(): Promise<void> {
    const ofAccounts = Map.groupBy(await this.#notes(), ({ accountId }) => accountId);
    const inTurn = limitConcurrency(ACCOUNT_CONCURRENCY);
    const removals = [...ofAccounts].map(([accountId, notes]) => inTurn(() => this.#removeOf(accountId, notes)));
    const failed = (await Promise.allSettled(removals)).find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #notes(): Promise<Note[]> {
    const notes: Note[] = [];
    for (const name of await readdir(this.#options.folder)) {
      if (!name.endsWith(EXTENSION) || this.#running.has(name)) continue;
      const path = join(this.#options.folder, name);
      const text = await orGone(readFile(path, "utf8"));
      if (text === undefined) continue; // the upload has ended meanwhile
      const unfinished = parsed(text);
      if (unfinished === undefined) await orGone(unlink(path));
      else notes.push({ ...unfinished, path });
    }
    return notes;
  }

  async #removeOf(accountId: number, notes: readonly Note[]): Promise<void> {
    const signal = AbortSignal.timeout(ACCOUNT_LIMIT_MS);
    const store = lazy(async () => (await this.#options.storage.open(accountId)).store);
    try {
      for (const { path, uri, id } of notes) {
        try {
          await (await store()).discard({ uri, id }, { signal });
        } catch (error) {
          if (!(await this.#isOld(path))) continue;
          const text = "what an upload left in the storage of an account could not be removed";
          this.#options.log.warn({ err: error, account: accountId, file: path }, text);
        }
        await orGone(unlink(path));
      }
    } finally {
      const opened = await store().catch(() => undefined);
      await opened?.close();
    }
  }

  async #isOld(path: string): Promise<boolean> {
    const found = await orGone(stat(path));
    return found !== undefined && this.#options.clock.now().getTime() - found.mtimeMs > FORGET_AFTER_MS;
  }
}

interface Note extends UnfinishedPut {
  readonly accountId: number;
  readonly path: string;
}

/** Undefined: a server that was killed has left an incomplete file. */
function parsed(text: string): Omit<Note, "path"> | undefined {
  let noted: unknown;
  try {
    noted = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(noted)) return undefined;
  const { accountId, uri, id } = noted;
  return typeof accountId === "number" && typeof uri === "string" && typeof id === "string"
    ? { accountId, uri, id }
    : undefined;
}

async function orGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
