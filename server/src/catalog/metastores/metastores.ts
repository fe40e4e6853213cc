/**
 * The metastores of this node: one process for each account whose Sparks run here, started when the first of them needs
 * it and ended some time after the last. It outlives us, and is found again by its folder.
 *
 * What a Spark is told of it (port and secret) stays the same over restarts of the process: live Sparks hold the
 * address, and warm servers are replaced when what shapes them changes. Only when another process has taken the port does
 * it change, and then the secret does too: Sparks have shown it to whatever listens there. A metastore that dies or falls
 * silent is started again while a Spark of the account runs.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Contribution } from "../../engines/spark-home/contribution.ts";
import { Supervised, Supervisor } from "../../engines/supervisor/supervisor.ts";
import { LivenessProbe, type ProbeTimes } from "../../lib/liveness-probe.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import type { AccountCatalogs, OwnCatalog } from "./account-catalogs.ts";
import { metastoreFolders } from "./metastore-folder.ts";
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
  readonly probes?: ProbeTimes;
}

/** The metastore of an account. Its start may take more than one process. */
class AccountMetastore extends Supervised<number> {
  readonly ready: Promise<Up>;
  /** Monotonic milliseconds. */
  upAt = 0;

  constructor(accountId: number, digest: string, memoryMiB: number, start: () => Promise<Up>) {
    super(accountId, digest, memoryMiB);
    this.ready = Promise.resolve().then(start);
  }

  async ended(signal: AbortSignal): Promise<void> {
    return (await this.ready).process.ended(signal);
  }

  /** One that did not come up was stopped by its start. */
  async stop(): Promise<void> {
    const up = await this.ready.catch(() => undefined);
    await up?.process.stop();
  }
}

const IDLE_MS = 10 * 60_000;
const PROBE_TIMES: ProbeTimes = { goodForMs: 15_000 };
/** What has been asked for a moment ago is about to be used by a Spark that is not to be seen yet. */
const FRESH_MS = 3000;
/** Who has lived as long has not died of its start. */
const STEADY_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export class Metastores {
  readonly #options: MetastoresOptions;
  readonly #supervisor: Supervisor<number, AccountMetastore>;
  /** In a row, each soon after its start; by account. */
  readonly #deaths = new Map<number, number>();
  /** Accounts whose earlier process is gone, or was of no use. */
  readonly #lost = new Set<number>();

  constructor(options: MetastoresOptions) {
    this.#options = options;
    this.#supervisor = new Supervisor({
      keyText: (accountId) => String(accountId),
      name: "a metastore",
      describe: ({ key: account }) => ({ account }),
      log: options.log,
      onReady: (metastore) => this.#untilServing(metastore),
      onDeath: (metastore) => this.#replaceDead(metastore),
      onSilent: ({ key }) => void this.#revive(key),
    });
  }

  /** Takes over the processes that were left running, and removes what is left of those that have ended. */
  async adopt(): Promise<void> {
    const { dataDir, openProcess, log } = this.#options;
    const ended = await metastoreFolders(dataDir).recover(
      openProcess,
      // A crash may have left two.
      ({ owner, record, process }) =>
        !this.#has(owner) && this.#add(owner, record.digest, () => this.#find(owner, process)),
      log,
    );
    for (const accountId of ended) if (!this.#has(accountId)) this.#lost.add(accountId);
  }

  /** One of before. When it never comes to serve, or dies before that, Sparks that live look for it all the same. */
  async #find(accountId: number, process: MetastoreProcess): Promise<Up> {
    const { closed } = this.#supervisor;
    try {
      return { process, port: await process.ready(closed), secret: undefined };
    } catch (error) {
      if (!closed.aborted) {
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
    const { port, secret = catalog.secrets.secret } = await metastore.ready;
    if (!(await metastore.isSilent())) return ownCatalog(port, secret);
    this.#supervisor.giveUp(metastore);
    return this.contributionOf(accountId, storage);
  }

  /** Begins to look for those that live and do not answer: Sparks wait long for them. */
  replaceSilent(): void {
    this.#supervisor.endSilent();
  }

  reservedMiB(): number {
    return this.#supervisor.reservedMiB();
  }

  /** Ends those that no Spark has used for a while. */
  async evictIdle(idleMs = this.#options.idleMs ?? IDLE_MS): Promise<void> {
    for (const metastore of this.#supervisor.list()) {
      const { usedAt } = metastore;
      if (performance.now() - usedAt < idleMs) continue;
      const isInUse = await this.#options.isInUse(metastore.key);
      // Asked for while we looked: then it stays, whatever the answer was.
      if (metastore.usedAt !== usedAt || metastore.removed.aborted) continue;
      if (isInUse) metastore.usedAt = performance.now();
      else void this.#supervisor.end(metastore);
    }
  }

  /** Called when the node is short of memory. */
  evict(): void {
    this.evictIdle(FRESH_MS).catch((error: unknown) => this.#options.log.warn({ err: error }, "no metastore evicted"));
  }

  /** Of one account or of all, in use or not. Settles when nothing of them is left. */
  stop(accountId?: number): Promise<void> {
    return this.#supervisor.stop(({ key }) => accountId === undefined || key === accountId);
  }

  accounts(): number[] {
    return this.#supervisor.list().map(({ key }) => key);
  }

  /** Leaves alone what runs; what dies from now on stays so. */
  close(): void {
    void this.#supervisor.close();
  }

  #has(accountId: number): boolean {
    return this.#supervisor.of(accountId).length > 0;
  }

  #provide(accountId: number, catalog: OwnCatalog, storage: Partial<Contribution>): AccountMetastore {
    const digest = metastoreDigest(catalog, storage);
    this.#supervisor.drainOthers(accountId, digest);
    const current = this.#supervisor.find(accountId, digest);
    if (current !== undefined) {
      current.usedAt = performance.now();
      return current;
    }
    const previous = this.#supervisor.untilEnded(({ key }) => key === accountId);
    const metastore = this.#add(accountId, digest, async () => {
      await previous;
      const isProven = (this.#deaths.get(accountId) ?? 0) === 0;
      const onRenewed = (renewed: OwnCatalog): void => {
        metastore.digest = metastoreDigest(renewed, storage);
      };
      const { closed: signal } = this.#supervisor;
      return startMetastore({ ...this.#options, accountId, storage, isProven, onRenewed, signal }, catalog);
    });
    return metastore;
  }

  #add(accountId: number, digest: string, start: () => Promise<Up>): AccountMetastore {
    return this.#supervisor.add(new AccountMetastore(accountId, digest, this.#options.memoryMiB, start));
  }

  async #replaceDead(metastore: AccountMetastore): Promise<void> {
    const { key: account, upAt } = metastore;
    const { process } = await metastore.ready;
    const reason = await process.ready(this.#supervisor.closed).catch((error: unknown) => error);
    const cause = reason instanceof Error ? { err: reason } : {};
    this.#options.log.warn({ account, ...cause }, "a metastore has died");
    await this.#supervisor.end(metastore);
    const isUnsteady = performance.now() - upAt < STEADY_MS;
    this.#deaths.set(account, isUnsteady ? (this.#deaths.get(account) ?? 0) + 1 : 0);
    await this.#revive(account);
  }

  /** One that listens and never comes to serve is as good as dead. */
  async #untilServing(metastore: AccountMetastore): Promise<void> {
    metastore.upAt = performance.now();
    const { key: accountId } = metastore;
    const { closed } = this.#supervisor;
    const up = await metastore.ready;
    try {
      await up.process.ready(closed);
      metastore.livenessProbe = this.#probeOf(accountId, up);
    } catch {
      if (closed.aborted || !(await up.process.isAlive())) return; // `#replaceDead` handles its death
      if (!this.#supervisor.giveUp(metastore, "does not come to serve")) return;
      this.#deaths.set(accountId, (this.#deaths.get(accountId) ?? 0) + 1);
      await this.#revive(accountId);
    }
  }

  #probeOf(accountId: number, { process, secret }: Up): LivenessProbe {
    const { catalogs, probes = PROBE_TIMES, log } = this.#options;
    let known = secret;
    const ask = async (): Promise<boolean> => {
      if (known === undefined) {
        const catalog = await catalogs.find(accountId);
        if (catalog.kind === "external") return true; // no later Spark asks it
        known = catalog.secrets.secret;
      }
      return process.isHealthy(known.reveal());
    };
    return new LivenessProbe({ ...probes, ask, log, signal: this.#supervisor.closed });
  }

  /** Live Sparks hold its address: they must find it there again, although nobody asks us for it. */
  async #revive(accountId: number): Promise<void> {
    const { isInUse, log } = this.#options;
    const { closed: signal } = this.#supervisor;
    for (let failures = Math.max(0, (this.#deaths.get(accountId) ?? 0) - 1); ; failures += 1) {
      const pause = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
      try {
        if (signal.aborted || this.#has(accountId) || !(await isInUse(accountId))) return;
        await this.contributionOf(accountId);
        return;
      } catch (error) {
        if (error instanceof Fault && error.code === "not-found") return; // the account is gone
        log.warn({ err: error, account: accountId }, "a metastore that has died was not started again yet");
      }
    }
  }
}
