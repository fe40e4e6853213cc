import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import { Fault } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { Log } from "../lib/log.ts";
import { ObservedSilence } from "../lib/observed-silence.ts";
import { openToken } from "./cluster-token.ts";
import type { ClusterControl, ControlledCluster } from "./control.ts";
import { idleEnd, idleTimeoutOf } from "./idle-rule.ts";
import type { ClusterState } from "./store/cluster.ts";
import {
  beginIdleEnd,
  beginUse,
  failStart,
  finish,
  listIdle,
  giveBack,
  listWork,
  renew,
  take,
  type IdleCluster,
  type SeenWork,
  type TakenWork,
} from "./store/lifecycle.ts";

/** What a command finds that wants to run on a cluster. */
export interface ClusterInUse {
  readonly state: ClusterState;
  /** Why it cannot run there now, for people; null when the cluster is UP. */
  readonly waitingReason: string | null;
}

export interface LifecycleOptions {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly control: ClusterControl;
  readonly clock: Clock;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
  readonly log: Log;
  /** A cluster went UP or DOWN here: what waits for it can be looked at again. */
  readonly settled: (clusterId: number) => void;
}

/** When the node at work was observed silent for this long, another takes its work. */
const LEASE_SECONDS = 30;
const RENEW_EVERY_MS = 8_000;
/** Three looks. */
const LONGEST_GAP_MS = 15_000;
/** After a start that failed, commands alone do not begin another for so long; users may. */
const PATIENCE_SECONDS = 30;
const BATCH = 200;

/**
 * The states of clusters, carried through: `DOWN → PENDING → UP → TERMINATING → DOWN`. The rows are the truth and the
 * table above store/lifecycle.ts the machine; nothing here has to survive. Whoever begins a start or an end writes the
 * row and tells `proceed`; `tend` takes up what was left by others, and ends what has been idle for long enough.
 */
export class ClusterLifecycle {
  readonly #options: LifecycleOptions;
  readonly #stopping = new AbortController();
  readonly #work = new Map<number, Work>();
  readonly #silence = new ObservedSilence<number>({ longestGapMs: LONGEST_GAP_MS });

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /**
   * Commands are about to be claimed there: starts what is DOWN. Asked only for clusters that were not UP at the last
   * look, so it costs nothing while they are. Those that are deleted are left out.
   */
  async use(clusterIds: readonly number[]): Promise<Map<number, ClusterInUse>> {
    const clusters = await beginUse(this.#options.db.system, clusterIds, PATIENCE_SECONDS);
    for (const { id, hasBegun } of clusters) if (hasBegun) this.proceed(id);
    return new Map(
      clusters.map(({ id, state, startFailure }) => [id, { state, waitingReason: waitingReason(state, startFailure) }]),
    );
  }

  /** After the commit that left it PENDING or TERMINATING: goes on at once. What was under way for it is called off. */
  proceed(clusterId: number, silent?: SeenWork): void {
    const before = this.#work.get(clusterId);
    before?.cancel.abort();
    const cancel = new AbortController();
    const signal = AbortSignal.any([cancel.signal, this.#stopping.signal]);
    const done = (before?.done ?? Promise.resolve())
      .then(() => this.#carryOut(clusterId, signal, silent))
      .catch((error: unknown) =>
        this.#options.log.error({ err: error, cluster: clusterId }, "a cluster is left as it is"),
      )
      .finally(() => {
        if (this.#work.get(clusterId)?.cancel === cancel) this.#work.delete(clusterId);
      });
    this.#work.set(clusterId, { cancel, done });
  }

  /** Periodic: may run late, twice, or on several nodes at once. */
  async tend(): Promise<void> {
    for (const work of await this.#listLeft()) this.proceed(work.id, work);
    await this.#endIdle();
  }

  async #listLeft(): Promise<SeenWork[]> {
    const now = this.#options.now ?? (() => performance.now());
    const askedAt = now();
    const all = await listWork(this.#options.db.system);
    this.#silence.look(
      all.map(({ id, sign }) => [id, sign]),
      askedAt,
      now(),
    );
    const isLeft = ({ id, isFree }: SeenWork): boolean => isFree || this.#silence.silentMs(id) >= LEASE_SECONDS * 1000;
    return all.filter((work) => isLeft(work) && !this.#work.has(work.id)).slice(0, BATCH);
  }

  /** What runs goes on; what is under way is left to whoever takes it up. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#work.values()].map(({ done }) => done));
  }

  async #endIdle(): Promise<void> {
    const { db, clock, log } = this.#options;
    for (let afterId = 0; !this.#stopping.signal.aborted;) {
      const clusters = await listIdle(db.system, afterId, BATCH);
      for (const cluster of clusters.filter((each) => endOf(each) <= clock.now())) {
        if (!(await db.asSystem((tx) => beginIdleEnd(tx, cluster)))) continue;
        log.info({ cluster: cluster.id, account: cluster.accountId }, "an idle cluster ends");
        this.proceed(cluster.id);
      }
      const last = clusters.at(-1);
      if (last === undefined || clusters.length < BATCH) return;
      afterId = last.id;
    }
  }

  async #carryOut(clusterId: number, signal: AbortSignal, silent?: SeenWork): Promise<void> {
    const { db, clock, settled } = this.#options;
    if (signal.aborted) return;
    const work = await take(db.system, clusterId, LEASE_SECONDS, silent);
    if (work === undefined) return;
    const failure = await this.#control(work, signal);
    if (signal.aborted) {
      await giveBack(db.system, work);
      return;
    }
    if (failure === null) await finish(db.system, work, clock.now());
    else if (work.state === "PENDING") await failStart(db.system, work, failure);
    else return; // TERMINATING: `tend` takes it up again after the time of a lease
    settled(clusterId);
  }

  /** Null: done. */
  async #control(work: TakenWork, signal: AbortSignal): Promise<string | null> {
    const { control, keys, log } = this.#options;
    const ended = new AbortController();
    const lost = this.#keepLease(work, ended.signal);
    const called = AbortSignal.any([signal, lost]);
    try {
      const cluster = controlled(work, keys);
      await (work.state === "PENDING" ? control.start(cluster, called) : control.terminate(cluster, called));
      return null;
    } catch (error) {
      if (!called.aborted) log.warn({ err: error, cluster: work.id, state: work.state }, "a cluster did not follow");
      return error instanceof Fault ? error.publicMessage : "it failed; the log of the server says more";
    } finally {
      ended.abort();
    }
  }

  /** Aborts when the work is another's. */
  #keepLease(work: TakenWork, ended: AbortSignal): AbortSignal {
    const lost = new AbortController();
    const { system } = this.#options.db;
    const keep = async (): Promise<void> => {
      for (;;) {
        await delay(RENEW_EVERY_MS, undefined, { signal: ended, ref: false });
        // The store may be away for a while; the lease is longer than a few of these.
        const isOurs = await renew(system, work, LEASE_SECONDS).catch(() => true);
        if (!isOurs) return lost.abort();
      }
    };
    keep().catch(() => undefined); // ended
    return lost.signal;
  }
}

interface Work {
  readonly cancel: AbortController;
  readonly done: Promise<void>;
}

function controlled({ id, accountId, engine, sparkConfig, pools, token }: TakenWork, keys: KeyRing): ControlledCluster {
  return { id, accountId, engine, sparkConfig, pools, token: openToken(keys, accountId, token) };
}

function endOf(cluster: IdleCluster): Date {
  const { upSince, lastEnd, hours, seconds, accountHours, accountSeconds, countsSeconds } = cluster;
  const timeout = idleTimeoutOf({ hours, seconds }, { hours: accountHours, seconds: accountSeconds, countsSeconds });
  return idleEnd({ upSince, idleSince: lastEnd ?? upSince, timeout });
}

function waitingReason(state: ClusterState, startFailure: string | null): string | null {
  switch (state) {
    case "UP":
      return null;
    case "PENDING":
      return "cluster starting";
    case "TERMINATING":
      return "cluster terminating; it will be started again";
    case "DOWN":
      return `cluster could not be started: ${startFailure ?? "it will be tried again"}`;
  }
}
