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
  listWork,
  releaseWork,
  renewLease,
  takeWork,
  type IdleCluster,
  type SeenWork,
  type TakenWork,
} from "./store/lifecycle.ts";

/** The answer to a command that needs a cluster. */
export interface ClusterInUse {
  readonly state: ClusterState;
  /** Why it cannot run there now, shown to users; null when the cluster is UP. */
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
  /** Called when this node has brought a cluster UP or DOWN: waiting commands can be claimed now. */
  readonly onSettled: (clusterId: number) => void;
}

/** When a node has shown no sign of life for this long, another node takes over its work. */
const LEASE_SECONDS = 30;
const RENEW_EVERY_MS = 8_000;
/** Three runs of the periodic task. */
const LONGEST_GAP_MS = 15_000;
/** How long after a failed start commands do not start the cluster again. Users can. */
const RETRY_AFTER_SECONDS = 30;
const BATCH = 200;

/**
 * Carries out the state changes of clusters: `DOWN → PENDING → UP → TERMINATING → DOWN`. The rows are the only truth,
 * and the table in store/lifecycle.ts describes the transitions. A caller that requests a start or an end writes the
 * row and calls `proceed`; `reconcile` continues the work of nodes that died and ends clusters that have been idle long
 * enough.
 */
export class ClusterLifecycle {
  readonly #options: LifecycleOptions;
  readonly #stopping = new AbortController();
  readonly #work = new Map<number, Work>();
  readonly #silence = new ObservedSilence<number>({ maxGapMs: LONGEST_GAP_MS });

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /**
   * Starts clusters that are DOWN, for commands about to be claimed. Called only for clusters that were not UP at the
   * last check, so it costs nothing for the others. Deleted clusters are not returned.
   */
  async use(clusterIds: readonly number[]): Promise<Map<number, ClusterInUse>> {
    const clusters = await beginUse(this.#options.db.system, clusterIds, RETRY_AFTER_SECONDS);
    for (const { id, hasBegun } of clusters) if (hasBegun) this.proceed(id);
    return new Map(
      clusters.map(({ id, state, startFailure }) => [id, { state, waitingReason: waitingReason(state, startFailure) }]),
    );
  }

  /** Call it after the commit that made the cluster PENDING or TERMINATING. Cancels earlier work on the cluster. */
  proceed(clusterId: number, silent?: SeenWork): void {
    const before = this.#work.get(clusterId);
    before?.cancel.abort();
    const cancel = new AbortController();
    const signal = AbortSignal.any([cancel.signal, this.#stopping.signal]);
    const done = (before?.done ?? Promise.resolve())
      .then(() => this.#carryOut(clusterId, signal, silent))
      .catch((error: unknown) =>
        this.#options.log.error({ err: error, cluster: clusterId }, "a cluster's state change was abandoned"),
      )
      .finally(() => {
        if (this.#work.get(clusterId)?.cancel === cancel) this.#work.delete(clusterId);
      });
    this.#work.set(clusterId, { cancel, done });
  }

  /** Periodic: may run late, twice, or on several nodes at once. */
  async reconcile(): Promise<void> {
    for (const work of await this.#listAbandoned()) this.proceed(work.id, work);
    await this.#endIdle();
  }

  async #listAbandoned(): Promise<SeenWork[]> {
    const now = this.#options.now ?? (() => performance.now());
    const queriedAt = now();
    const all = await listWork(this.#options.db.system);
    this.#silence.observe(
      all.map(({ id, sign }) => [id, sign]),
      queriedAt,
      now(),
    );
    const isAbandoned = ({ id, isFree }: SeenWork): boolean =>
      isFree || this.#silence.silentMs(id) >= LEASE_SECONDS * 1000;
    return all.filter((work) => isAbandoned(work) && !this.#work.has(work.id)).slice(0, BATCH);
  }

  /** Clusters keep running; unfinished state changes are left to other nodes. */
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
        log.info({ cluster: cluster.id, account: cluster.accountId }, "terminating an idle cluster");
        this.proceed(cluster.id);
      }
      const last = clusters.at(-1);
      if (last === undefined || clusters.length < BATCH) return;
      afterId = last.id;
    }
  }

  async #carryOut(clusterId: number, signal: AbortSignal, silent?: SeenWork): Promise<void> {
    const { db, clock, onSettled } = this.#options;
    if (signal.aborted) return;
    const work = await takeWork(db.system, clusterId, LEASE_SECONDS, silent);
    if (work === undefined) return;
    const failure = await this.#control(work, signal);
    if (signal.aborted) {
      await releaseWork(db.system, work);
      return;
    }
    if (failure === null) await finish(db.system, work, clock.now());
    else if (work.state === "PENDING") await failStart(db.system, work, failure);
    else return; // TERMINATING: `reconcile` retries after the lease time
    onSettled(clusterId);
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
      if (!called.aborted) log.warn({ err: error, cluster: work.id, state: work.state }, "cluster state change failed");
      return error instanceof Fault ? error.publicMessage : "it failed; see the log of the server";
    } finally {
      ended.abort();
    }
  }

  /** The signal is aborted when another node has taken the work. */
  #keepLease(work: TakenWork, ended: AbortSignal): AbortSignal {
    const lost = new AbortController();
    const { system } = this.#options.db;
    const keep = async (): Promise<void> => {
      for (;;) {
        await delay(RENEW_EVERY_MS, undefined, { signal: ended, ref: false });
        // The database may be unavailable for a while; the lease lasts for several renewals.
        const isOurs = await renewLease(system, work, LEASE_SECONDS).catch(() => true);
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
