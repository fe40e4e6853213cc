/**
 * The metastores of this node: one process for each account whose Sparks run here, started when the first of them needs
 * it and ended some time after the last. It outlives us, and is found again by its folder.
 *
 * What a Spark is told of it (port and secret) stays the same over restarts of the process: live Sparks hold the
 * address, and warm servers are replaced when what shapes them changes. Only when somebody else has taken the port does
 * it change, and then the secret does too: Sparks have shown it to whoever listens there.
 *
 *   starting ──▶ up ──▶ gone         idle, evicted, stopped
 *       ▲         │
 *       └─ died ──┘                  or silent, while a Spark of the account runs
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Contribution } from "../../engines/spark-home/contribution.ts";
import { Answering, type LookTimes } from "../../lib/answering.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import type { AccountCatalogs, OwnCatalog } from "./account-catalogs.ts";
import { MetastoreFolder, readRecord } from "./metastore-folder.ts";
import type { MetastoreProcess } from "./metastore-process.ts";
import { externalCatalog, ownCatalog } from "./spark-catalog.ts";
import { metastoreDigest, startMetastore, type Up } from "./start-metastore.ts";

export interface MetastoresOptions {
  readonly dataDir: string;
  readonly catalogs: Pick<AccountCatalogs, "find" | "renewSecret">;
  /** What the account's storage adds to a JVM: a metastore makes and removes folders there. */
  readonly storageOf: (accountId: number) => Promise<Partial<Contribution>>;
  /** Whether a Spark of the account runs on this node. */
  readonly isInUse: (accountId: number) => Promise<boolean>;
  readonly openProcess: (folder: string) => MetastoreProcess;
  readonly memoryMiB: number;
  readonly log: Log;
  readonly idleMs?: number;
  readonly looks?: LookTimes;
}

interface Metastore {
  /** Of all that the process is made of; it is replaced when that changes. */
  digest: string;
  readonly up: Promise<Up>;
  usedAt: number;
  /** Once it serves: while it starts, it may listen for long and not answer. */
  answering?: Answering;
}

const IDLE_MS = 10 * 60_000;
const LOOKS: LookTimes = { goodForMs: 15_000 };
/** What has been asked for a moment ago is about to be used by a Spark that is not to be seen yet. */
const FRESH_MS = 3000;
/** Who has lived as long has not died of its start. */
const STEADY_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export class Metastores {
  readonly #options: MetastoresOptions;
  readonly #metastores = new Map<number, Metastore>();
  /** Of accounts whose process is on its way out: the next one waits for it. */
  readonly #endings = new Map<number, Promise<void>>();
  /** In a row, each soon after its start. */
  readonly #deaths = new Map<number, number>();
  /** Of accounts whose process of before is gone, or was of no use. */
  readonly #lost = new Set<number>();
  readonly #closed = new AbortController();

  constructor(options: MetastoresOptions) {
    this.#options = options;
  }

  /** Finds those of before, and takes away what is left of those that are gone. */
  async adopt(): Promise<void> {
    const { dataDir, log } = this.#options;
    for (const accountId of await MetastoreFolder.accounts(dataDir)) {
      let isLost = false;
      for (const folder of await new MetastoreFolder(dataDir, accountId).processes()) {
        const record = await readRecord(folder);
        const process = this.#options.openProcess(folder);
        // Of two that a crash has left the second one goes.
        if (record !== undefined && !this.#metastores.has(accountId) && (await process.isAlive())) {
          const up = this.#find(accountId, process);
          this.#add(accountId, { digest: record.digest, up, usedAt: performance.now() });
        } else {
          isLost = true;
          await process.stop().catch((error: unknown) => log.warn({ err: error, folder }, "left over"));
        }
      }
      if (isLost && !this.#metastores.has(accountId)) this.#lost.add(accountId);
    }
  }

  /** One of before. When it never comes to serve, or dies before that, Sparks that live look for it all the same. */
  async #find(accountId: number, process: MetastoreProcess): Promise<Up> {
    const { signal } = this.#closed;
    try {
      return { process, port: await process.ready(signal), secret: undefined };
    } catch (error) {
      if (!signal.aborted) {
        await process.stop().catch(() => undefined);
        this.#lost.add(accountId);
      }
      throw error;
    }
  }

  /** Sparks that have outlived one of before, and us, look for it. */
  reviveLost(): void {
    for (const accountId of this.#lost) void this.#revive(accountId);
    this.#lost.clear();
  }

  /** What leads the account's Sparks to its tables, once somebody answers there. */
  async contributionOf(accountId: number, storage?: Partial<Contribution>): Promise<Pick<Contribution, "properties">> {
    const catalog = await this.#options.catalogs.find(accountId);
    if (catalog.kind === "external") return externalCatalog(catalog.uri);
    const files = storage ?? (await this.#options.storageOf(accountId));
    const metastore = this.#provide(accountId, catalog, files);
    const { port, secret = catalog.secrets.secret } = await metastore.up;
    const isSilent = (await metastore.answering?.isSilent()) ?? false;
    if (!isSilent) return ownCatalog(port, secret);
    this.#giveUp(accountId, metastore, "a metastore does not answer; it ends");
    return this.contributionOf(accountId, storage);
  }

  /** Begins to look for those that live and do not answer: Sparks wait long for them. Who looks already looks on. */
  replaceSilent(): void {
    for (const [accountId, metastore] of this.#metastores) {
      void metastore.answering?.isSilent().then((isSilent) => {
        if (!isSilent || !this.#giveUp(accountId, metastore, "a metastore does not answer; it ends")) return;
        void this.#revive(accountId);
      });
    }
  }

  /** What they take of the node's memory. */
  reservedMiB(): number {
    return this.#metastores.size * this.#options.memoryMiB;
  }

  /** Ends those that no Spark has used for a while. */
  async evictIdle(idleMs = this.#options.idleMs ?? IDLE_MS): Promise<void> {
    for (const [accountId, metastore] of this.#metastores) {
      const { usedAt } = metastore;
      if (performance.now() - usedAt < idleMs) continue;
      const isInUse = await this.#options.isInUse(accountId);
      // Asked for while we looked: then it stays, whatever the answer was.
      if (metastore.usedAt !== usedAt || this.#metastores.get(accountId) !== metastore) continue;
      if (isInUse) metastore.usedAt = performance.now();
      else void this.#end(accountId, metastore);
    }
  }

  /** Called when the node is short of memory. */
  evict(): void {
    this.evictIdle(FRESH_MS).catch((error: unknown) => this.#options.log.warn({ err: error }, "no metastore evicted"));
  }

  /** Of one account or of all, in use or not. Settles when nothing of them is left. */
  async stop(accountId?: number): Promise<void> {
    const ending = [...this.#metastores].filter(([id]) => accountId === undefined || id === accountId);
    await Promise.all([...ending.map(([id, each]) => this.#end(id, each)), ...this.#endings.values()]);
  }

  accounts(): number[] {
    return [...this.#metastores.keys()];
  }

  /** Leaves alone what runs; what dies from now on stays so. */
  close(): void {
    this.#closed.abort();
  }

  #provide(accountId: number, catalog: OwnCatalog, storage: Partial<Contribution>): Metastore {
    const digest = metastoreDigest(catalog, storage);
    const current = this.#metastores.get(accountId);
    if (current?.digest === digest) {
      current.usedAt = performance.now();
      return current;
    }
    if (current !== undefined) void this.#end(accountId, current);
    const gone = this.#endings.get(accountId);
    const start = async (): Promise<Up> => {
      await gone;
      const isProven = (this.#deaths.get(accountId) ?? 0) === 0;
      const onRenewed = (renewed: OwnCatalog): void => {
        metastore.digest = metastoreDigest(renewed, storage);
      };
      const { signal } = this.#closed;
      return startMetastore({ ...this.#options, accountId, storage, isProven, onRenewed, signal }, catalog);
    };
    const metastore: Metastore = { digest, usedAt: performance.now(), up: Promise.resolve().then(start) };
    this.#add(accountId, metastore);
    return metastore;
  }

  #add(accountId: number, metastore: Metastore): void {
    this.#metastores.set(accountId, metastore);
    metastore.up.then(
      (up) =>
        Promise.all([this.#watch(accountId, metastore, up.process), this.#serve(accountId, metastore, up)]).catch(
          (error: unknown) => {
            this.#options.log.warn({ err: error, account: accountId }, "a metastore cannot be watched; it ends");
            return this.#end(accountId, metastore);
          },
        ),
      (error: unknown) => {
        if (this.#closed.signal.aborted) return;
        this.#options.log.warn({ err: error, account: accountId }, "a metastore did not come up");
        if (this.#metastores.get(accountId) === metastore) this.#metastores.delete(accountId);
      },
    );
  }

  async #watch(accountId: number, metastore: Metastore, process: MetastoreProcess): Promise<void> {
    const upAt = performance.now();
    await process.ended(this.#closed.signal);
    if (this.#closed.signal.aborted || this.#metastores.get(accountId) !== metastore) return;
    const reason = await process.ready(this.#closed.signal).catch((error: unknown) => error);
    const cause = reason instanceof Error ? { err: reason } : {};
    this.#options.log.warn({ account: accountId, ...cause }, "a metastore has died");
    await this.#end(accountId, metastore);
    const isUnsteady = performance.now() - upAt < STEADY_MS;
    this.#deaths.set(accountId, isUnsteady ? (this.#deaths.get(accountId) ?? 0) + 1 : 0);
    await this.#revive(accountId);
  }

  /** One that listens and never comes to serve is as good as dead, and nobody else waits for it. */
  async #serve(accountId: number, metastore: Metastore, up: Up): Promise<void> {
    const { signal } = this.#closed;
    try {
      await up.process.ready(signal);
      metastore.answering = this.#answering(accountId, up);
    } catch {
      if (signal.aborted || !(await up.process.isAlive())) return; // `#watch` sees to the dead
      if (!this.#giveUp(accountId, metastore, "a metastore does not come to serve; it ends")) return;
      this.#deaths.set(accountId, (this.#deaths.get(accountId) ?? 0) + 1);
      await this.#revive(accountId);
    }
  }

  #answering(accountId: number, { process, secret }: Up): Answering {
    const { catalogs, looks = LOOKS, log } = this.#options;
    let known = secret;
    const ask = async (): Promise<boolean> => {
      if (known === undefined) {
        const catalog = await catalogs.find(accountId);
        if (catalog.kind === "external") return true; // no Spark to come asks it any more
        known = catalog.secrets.secret;
      }
      return process.isHealthy(known.reveal());
    };
    return new Answering({ ...looks, ask, log, signal: this.#closed.signal });
  }

  /** Live Sparks hold its address: they must find it there again, although nobody asks us for it. */
  async #revive(accountId: number): Promise<void> {
    const { isInUse, log } = this.#options;
    const { signal } = this.#closed;
    for (let failures = Math.max(0, (this.#deaths.get(accountId) ?? 0) - 1); ; failures += 1) {
      const pause = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
      try {
        if (signal.aborted || this.#metastores.has(accountId) || !(await isInUse(accountId))) return;
        await this.contributionOf(accountId);
        return;
      } catch (error) {
        if (error instanceof Fault && error.code === "not-found") return; // the account is gone
        log.warn({ err: error, account: accountId }, "a metastore that has died was not started again yet");
      }
    }
  }

  /** False: somebody else was quicker. */
  #giveUp(accountId: number, metastore: Metastore, reason: string): boolean {
    if (this.#metastores.get(accountId) !== metastore) return false;
    this.#options.log.warn({ account: accountId }, reason);
    void this.#end(accountId, metastore);
    return true;
  }

  /** From this moment on nobody gets it any more. */
  #end(accountId: number, metastore: Metastore): Promise<void> {
    if (this.#metastores.get(accountId) === metastore) this.#metastores.delete(accountId);
    const before = this.#endings.get(accountId);
    const ending = (async () => {
      await before;
      try {
        const { process } = await metastore.up;
        await process.stop();
      } catch (error) {
        this.#options.log.warn({ err: error, account: accountId }, "a metastore could not be ended");
      }
    })();
    const known = ending.finally(() => {
      if (this.#endings.get(accountId) === known) this.#endings.delete(accountId);
    });
    this.#endings.set(accountId, known);
    return known;
  }
}
