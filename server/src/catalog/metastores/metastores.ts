/**
 * The metastores of this node: one process for each account that runs Spark here. It is started for the account's first
 * Spark process and ended some time after the last. It outlives the server, which finds it again by its folder.
 *
 * Its port and secret survive restarts of the process: running Sparks keep using the address, and a change would
 * replace warm servers. If another process has taken the port, both change, because Sparks may have shown the secret to
 * that process. A metastore that dies or stops answering is restarted while a Spark of the account runs.
 */
import { setTimeout as delay } from "node:timers/promises";
import { mergeContributions, type ContributedPart, type Contribution } from "../../engines/spark-home/contribution.ts";
import { Supervised, Supervisor } from "../../processes/supervisor/supervisor.ts";
import { LivenessProbe, type ProbeTimes } from "../../lib/liveness-probe.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import type { AccountCatalogs, OwnCatalog } from "./account-catalogs.ts";
import { metastoreFolders, readStoredPort } from "./metastore-folder.ts";
import { externalCatalog, ownCatalog } from "./spark-catalog.ts";
import { changeAddress, metastoreDigest, startMetastore, type MetastoreProcess, type Up } from "./start-metastore.ts";

export interface MetastoresOptions {
  readonly dataDir: string;
  readonly catalogs: Pick<AccountCatalogs, "find" | "renewSecret">;
  /** The configuration of the account's storage: a metastore creates and removes folders there. */
  readonly storageOf: (accountId: number) => Promise<ContributedPart>;
  /** Whether a Spark of the account runs on this node. */
  readonly isInUse: (accountId: number) => Promise<boolean>;
  readonly openProcess: (folder: string) => MetastoreProcess;
  readonly memoryMiB: number;
  /** The number of processors of this machine. */
  readonly processors: number;
  readonly log: Log;
  readonly idleMs?: number;
  readonly steadyMs?: number;
  readonly probes?: ProbeTimes;
}

/** The metastore of an account. A start may need several processes, one after the other (`start-metastore.ts`). */
class AccountMetastore extends Supervised<number> {
  readonly ready: Promise<Up>;
  /** When it became ready, in monotonic milliseconds. */
  readyAt = Infinity;

  constructor(accountId: number, digest: string, memoryMiB: number, start: () => Promise<Up>) {
    super(accountId, digest, memoryMiB);
    this.ready = Promise.resolve().then(start);
  }

  async ended(signal: AbortSignal): Promise<void> {
    return (await this.ready).process.ended(signal);
  }

  /** A process that did not start was stopped by `startMetastore`. */
  async stop(): Promise<void> {
    const up = await this.ready.catch(() => undefined);
    await up?.process.stop();
  }
}

const IDLE_MS = 10 * 60_000;
const PROBE_TIMES: ProbeTimes = { goodForMs: 15_000 };
/** A metastore that was requested within this time may be for a Spark that is not registered yet. */
const FRESH_MS = 3000;
/** A longer uptime rules out a startup failure. */
const STEADY_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export class Metastores {
  readonly #options: MetastoresOptions;
  readonly #supervisor: Supervisor<number, AccountMetastore>;
  /** Consecutive metastores that died early or never became ready, by account. */
  readonly #deaths = new Map<number, number>();
  /** Accounts whose leftover process has ended, or never became ready. */
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

  /** Takes over the processes that a previous server left running, and removes the folders of those that have ended. */
  async adopt(): Promise<void> {
    const { dataDir, openProcess, log } = this.#options;
    const ended = await metastoreFolders(dataDir).recover(
      openProcess,
      // A crash may have left two of one account.
      ({ owner, record, process }) =>
        !this.#has(owner) && this.#add(owner, record.digest, () => this.#find(owner, process)),
      log,
    );
    for (const accountId of ended) if (!this.#has(accountId)) this.#lost.add(accountId);
  }

  /**
   * Waits for a leftover process. If it does not become ready, or not on the port that Sparks were given, it is replaced
   * when `reviveLost` finds running Sparks.
   */
  async #find(accountId: number, process: MetastoreProcess): Promise<Up> {
    const { closed } = this.#supervisor;
    try {
      const port = await process.ready(closed);
      await this.#requirePort(accountId, port, await readStoredPort(this.#options.dataDir, accountId));
      return { process, port, secret: undefined };
    } catch (error) {
      if (!closed.aborted) {
        await process.stop().catch(() => undefined);
        this.#lost.add(accountId);
      }
      throw error;
    }
  }

  /** Fails if the port is not the one that Sparks were given. The next metastore then has another port and secret. */
  async #requirePort(accountId: number, port: number, given: number | undefined): Promise<void> {
    if (given === undefined || port === given) return;
    const catalog = await this.#options.catalogs.find(accountId);
    if (catalog.kind === "own") await changeAddress({ ...this.#options, accountId }, catalog);
    throw new Error(`the metastore listens on port ${port}, because another process has taken port ${given}`);
  }

  /** Restarts the metastores of Sparks that have outlived both their metastore and the previous server. */
  reviveLost(): void {
    for (const accountId of this.#lost) void this.#revive(accountId);
    this.#lost.clear();
  }

  /** The configuration that connects the account's Sparks to its metastore, once that can be reached. */
  async contributionOf(accountId: number, storage?: ContributedPart): Promise<Pick<Contribution, "properties">> {
    const catalog = await this.#options.catalogs.find(accountId);
    if (catalog.kind === "external") return externalCatalog(catalog.uri);
    const files = mergeContributions([storage ?? (await this.#options.storageOf(accountId))]);
    const metastore = this.#provide(accountId, catalog, files);
    const { port, secret = catalog.secrets.secret } = await metastore.ready;
    if (!(await metastore.isSilent())) return ownCatalog(port, secret);
    this.#supervisor.giveUp(metastore);
    return this.contributionOf(accountId, storage);
  }

  /** Starts probes, and replaces metastores that run but do not answer: their Sparks would wait for a long time. */
  replaceSilent(): void {
    this.#supervisor.endSilent();
  }

  reservedMiB(): number {
    return this.#supervisor.reservedMiB();
  }

  /** Ends metastores that no Spark has used for a while. */
  async evictIdle(idleMs = this.#options.idleMs ?? IDLE_MS): Promise<void> {
    for (const metastore of this.#supervisor.list()) {
      const { usedAt } = metastore;
      if (performance.now() - usedAt < idleMs) continue;
      const isInUse = await this.#options.isInUse(metastore.key);
      // It was requested during the check, so it stays whatever the result.
      if (metastore.usedAt !== usedAt || metastore.removed.aborted) continue;
      if (isInUse) metastore.usedAt = performance.now();
      else void this.#supervisor.end(metastore);
    }
  }

  /** Called when the node is short of memory. */
  evict(): void {
    this.evictIdle(FRESH_MS).catch((error: unknown) =>
      this.#options.log.warn({ err: error }, "idle metastores could not be evicted"),
    );
  }

  /** Stops the metastore of one account, or all, in use or not. Resolves when their processes have ended. */
  stop(accountId?: number): Promise<void> {
    return this.#supervisor.stop(({ key }) => accountId === undefined || key === accountId);
  }

  accounts(): number[] {
    return this.#supervisor.list().map(({ key }) => key);
  }

  /** Leaves the processes running. Those that die from now on are not restarted. */
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
      const mustBecomeReady = (this.#deaths.get(accountId) ?? 0) > 0;
      const onRenewed = (renewed: OwnCatalog): void => {
        metastore.digest = metastoreDigest(renewed, storage);
      };
      const { closed: signal } = this.#supervisor;
      return startMetastore({ ...this.#options, accountId, storage, mustBecomeReady, onRenewed, signal }, catalog);
    });
    return metastore;
  }

  #add(accountId: number, digest: string, start: () => Promise<Up>): AccountMetastore {
    return this.#supervisor.add(new AccountMetastore(accountId, digest, this.#options.memoryMiB, start));
  }

  async #replaceDead(metastore: AccountMetastore): Promise<void> {
    const { key: account, readyAt } = metastore;
    const { steadyMs = STEADY_MS } = this.#options;
    const { process } = await metastore.ready;
    const reason = await process.ready(this.#supervisor.closed).catch((error: unknown) => error);
    const cause = reason instanceof Error ? { err: reason } : {};
    this.#options.log.warn({ account, ...cause }, "a metastore has died");
    await this.#supervisor.end(metastore);
    const isUnsteady = performance.now() - readyAt < steadyMs;
    this.#deaths.set(account, isUnsteady ? (this.#deaths.get(account) ?? 0) + 1 : 0);
    await this.#revive(account);
  }

  /** A metastore that never becomes ready, or not on the port that Sparks were given, is treated as dead. */
  async #untilServing(metastore: AccountMetastore): Promise<void> {
    const { key: accountId } = metastore;
    const { closed } = this.#supervisor;
    const up = await metastore.ready;
    try {
      const port = await up.process.ready(closed);
      await this.#requirePort(accountId, port, up.port);
      metastore.readyAt = performance.now();
      metastore.livenessProbe = this.#probeOf(accountId, up);
    } catch (error) {
      if (closed.aborted || !(await up.process.isAlive())) return; // `#replaceDead` handles its death
      const why = error instanceof Error ? `: ${error.message}` : "";
      if (!this.#supervisor.giveUp(metastore, `does not become ready${why}`)) return;
      this.#deaths.set(accountId, (this.#deaths.get(accountId) ?? 0) + 1);
      await this.#revive(accountId);
    }
  }

  #probeOf(accountId: number, { process, secret }: Up): LivenessProbe {
    const { catalogs, probes = PROBE_TIMES, log } = this.#options;
    let known = secret;
    const request = async (): Promise<boolean> => {
      if (known === undefined) {
        const catalog = await catalogs.find(accountId);
        if (catalog.kind === "external") return true; // no new Spark will use it
        known = catalog.secrets.secret;
      }
      return process.isHealthy(known.reveal());
    };
    return new LivenessProbe({ ...probes, request, log, signal: this.#supervisor.closed });
  }

  /** Restarts the metastore for running Sparks, which keep using its address without another request to us. */
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
        if (error instanceof Fault && error.code === "not-found") return; // the account was deleted
        log.warn({ err: error, account: accountId }, "a metastore that has died could not be restarted; retrying");
      }
    }
  }
}
