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
const CALL_LIMIT_MS = 20_000;
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

  /** Removes from the stores what uploads that have ended left there. */
  async removeLeftovers(): Promise<void> {
    const { folder, log } = this.#options;
    for (const name of await readdir(folder)) {
      if (!name.endsWith(EXTENSION) || this.#running.has(name)) continue;
      const path = join(folder, name);
      try {
        await this.#remove(await readFile(path, "utf8"));
      } catch (error) {
        if (!(await this.#isOld(path))) continue;
        log.warn({ err: error, file: name }, "what an upload left in the storage of an account could not be removed");
      }
      await unlink(path);
    }
  }

  async #remove(text: string): Promise<void> {
    const noted: unknown = text === "" ? {} : JSON.parse(text); // a server that is killed may leave an empty file
    if (!isRecord(noted)) return;
    const { accountId, uri, id } = noted;
    if (typeof accountId !== "number" || typeof uri !== "string" || typeof id !== "string") return;
    const { store } = await this.#options.storage.open(accountId);
    try {
      await store.discard({ uri, id }, { signal: AbortSignal.timeout(CALL_LIMIT_MS) });
    } finally {
      await store.close();
    }
  }

  async #isOld(path: string): Promise<boolean> {
    const { mtimeMs } = await stat(path);
    return this.#options.clock.now().getTime() - mtimeMs > FORGET_AFTER_MS;
  }
}
