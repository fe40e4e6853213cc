import { setTimeout as delay } from "node:timers/promises";
import type { NodeState } from "../store/nodes.ts";
import { listHeld, listHeldStates, type ClaimedCommand } from "../store/claims.ts";
import { Claimer, type ClaimerOptions, type NodeView, type QueueSituation } from "./claimer.ts";
import { ConductedRun, type ConductServices } from "./conduct-run.ts";
import { Heartbeat, type HeartbeatOptions, type NodeWatch } from "./heartbeats.ts";
import { LostRuns } from "./lost-runs.ts";
import { STOPPED_WITH_ALL, type StopMark } from "./stop-mark.ts";
import type { Log } from "../../lib/log.ts";

export interface DispatcherOptions
  extends
    Omit<ConductServices, "db" | "stopping">,
    Omit<ClaimerOptions, "kindOf" | "filesOf" | "stopping" | "onEnd" | "log"> {
  readonly nodeWatch: NodeWatch;
  readonly leaseSeconds: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly stopMark: StopMark;
  readonly renewLease: HeartbeatOptions["renewLease"];
  readonly timelineWatch: HeartbeatOptions["timelineWatch"];
}

const POLL_INTERVAL_MS = 1000;
/** How long a stop of everything waits until its runs are settled. Killing an unresponsive runner takes less. */
const STORE_PATIENCE_MS = 30_000;

/**
 * The node's part of the queue. Every second, and at once when it is poked, it compares its runs with the rows: it adopts
 * runs that only the rows know, ends runs that its rows do not have, cancels those that are to be cancelled, and claims
 * waiting commands within the caps and the memory. The rows are the truth; nothing here has to survive a crash.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #services: ConductServices;
  readonly #stopping = new AbortController();
  readonly #runs = new Map<number, ConductedRun>();
  /** Fences of runs settled here. Rows that were read before must not make them adopted again. */
  readonly #settled = new Map<number, number>();
  readonly #releases = new Map<number, number>();
  readonly #heartbeat: Heartbeat;
  readonly #claimer: Claimer;
  readonly #lostRuns: LostRuns;
  #polling: Repetition | undefined;
  #isEnding = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#services = { ...options, db: options.db.system, stopping: this.#stopping.signal };
    this.#claimer = new Claimer({ ...options, stopping: this.#stopping.signal });
    this.#heartbeat = new Heartbeat({ ...options, db: options.db.system });
    this.#lostRuns = new LostRuns({ ...options, db: options.db.system });
  }

  start(): void {
    this.#polling ??= repeat(() => this.#poll(), POLL_INTERVAL_MS, this.#stopping.signal, this.#options.log);
  }

  poke(): void {
    this.#polling?.poke();
  }

  /** Undefined before the first poll. */
  situation(): QueueSituation | undefined {
    return this.#claimer.situation;
  }

  /** Whether this node could write its last heartbeat. */
  get hasHeartbeat(): boolean {
    return !this.#heartbeat.isLost;
  }

  /** The commands that run here now. */
  running(): { id: number; accountId: number }[] {
    return [...this.#runs.values()].map(({ claim: { id }, accountId }) => ({ id, accountId }));
  }

  /** Ends the runs of the account; they are not tried again. */
  endRunsOf(accountId: number, cause: string): void {
    for (const run of this.#runs.values()) if (run.accountId === accountId) run.end(cause, { isFinal: true });
  }

  /** Claims nothing more. Runs go on, unless `endsRuns`. */
  async stop({ endsRuns = false } = {}): Promise<void> {
    if (this.#polling === undefined) return;
    if (endsRuns) await this.#endRuns();
    this.#stopping.abort();
    await this.#polling.ended;
    await Promise.all([...this.#runs.values()].map(({ finished }) => finished));
  }

  async #endRuns(): Promise<void> {
    this.#isEnding = true;
    // Runs of the previous server count, too, and the first poll may not have adopted them yet.
    await this.#reconcile().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, "runs of the previous server could not be listed and may go on"),
    );
    // The programs end in time, but their rows cannot be settled while the database is unreachable.
    const late = delay(STORE_PATIENCE_MS, "late" as const, { ref: false });
    if ((await Promise.race([this.#endKnownRuns(), late])) === "late") this.#options.stopMark.write();
  }

  /**
   * Repeats, because a claim that was under way may still add a run. Runs that can be restarted are left for the next
   * start.
   */
  async #endKnownRuns(): Promise<void> {
    for (;;) {
      const runs = [...this.#runs.values()].filter(({ isRestartable }) => !isRestartable);
      if (runs.length === 0) return;
      for (const run of runs) run.end(STOPPED_WITH_ALL);
      await Promise.all(runs.map(({ finished }) => finished));
    }
  }

  /** Settles the runs that were ended while no server ran. The mark stays until all of them are settled. */
  async #settleStopped(): Promise<void> {
    const { stopMark } = this.#options;
    if (!stopMark.exists) return;
    await this.#reconcile();
    await this.#endKnownRuns();
    if (!this.#stopping.signal.aborted) stopMark.remove();
  }

  async #poll(): Promise<PollResult> {
    await this.#heartbeat.beat();
    await this.#settleStopped();
    await this.#reconcile();
    await this.#claimMore();
    await this.#lostRuns.settle();
    // A full node need not react to each submission; an empty one should start it at once.
    const { plan, candidates } = this.#claimer.situation ?? {};
    const isBlocked = plan?.claims.length === 0 && candidates?.length !== 0;
    return isBlocked ? "blocked" : "ready";
  }

  async #reconcile(): Promise<void> {
    const { db, node } = this.#options;
    const runs = [...this.#runs.values()];
    const settledBefore = [...this.#settled];
    const held = new Map((await listHeldStates(db.system, node.id)).map((row) => [row.id, row]));
    for (const run of runs) {
      const row = held.get(run.claim.id);
      if (row?.fence !== run.claim.fence) run.abandon();
      else if (row.status === "cancelling") run.cancel();
      else if (row.isClusterEnding) run.end("its cluster was terminated", { isFinal: true });
    }
    const isUnknown = ({ id, fence }: { id: number; fence: number }): boolean =>
      !this.#runs.has(id) && fence > (this.#settled.get(id) ?? -1);
    if ([...held.values()].some(isUnknown)) {
      for (const command of (await listHeld(db.system, node.id)).filter(isUnknown)) this.#conduct(command);
    }
    for (const [id, fence] of settledBefore) if (this.#settled.get(id) === fence) this.#settled.delete(id);
  }

  async #claimMore(): Promise<void> {
    const nodeState = this.#heartbeat.state;
    const nodes = this.#options.nodeWatch.list();
    const view = { nodeState, nodes, takes: this.#isEnding ? ("nothing" as const) : TAKEN[nodeState] };
    await this.#claimer.claimWaiting(view, [...this.#runs.values()], (command) => this.#conduct(command));
  }

  #conduct(command: ClaimedCommand): void {
    const releases = this.#releases.get(command.id) ?? 0;
    const run = new ConductedRun(command, this.#options.node.id, this.#services, releases);
    this.#runs.set(command.id, run);
    void run.finished.then((end) => {
      if (end !== "left") this.#settled.set(command.id, command.fence);
      if (this.#runs.get(command.id) === run) this.#runs.delete(command.id);
      if (end === "released") this.#releases.set(command.id, releases + 1);
      else this.#releases.delete(command.id);
      // A run that was left is adopted by the next regular poll: it may fail again.
      if (end !== "left") this.poke();
    });
  }
}

/** A draining node finishes what only it can continue. */
const TAKEN: Readonly<Record<NodeState, NodeView["takes"]>> = {
  active: "all",
  draining: "own",
  paused: "nothing",
  drained: "nothing",
};

interface Repetition {
  /** Runs the work again at once, or right after the current run. */
  poke(): void;
  readonly ended: Promise<void>;
}

/** Each submission pokes. To run the work for each of them would cost as much as the submissions themselves. */
const SHORTEST_PAUSE_MS = 20;

/** `blocked`: no waiting command can start here, or the poll failed. Polling again at once would not help. */
type PollResult = "ready" | "blocked";

/**
 * Runs `work` now, and again `everyMs` after each end, never two at the same time. After a blocked run, a poke has to wait
 * a moment. A failure is logged, and the next run follows.
 */
function repeat(work: () => Promise<PollResult>, everyMs: number, stopping: AbortSignal, log: Log): Repetition {
  let wake = Promise.withResolvers<void>();
  const run = async (): Promise<void> => {
    while (!stopping.aborted) {
      wake = Promise.withResolvers<void>();
      const shortestPause = delay(SHORTEST_PAUSE_MS);
      let result: PollResult = "blocked";
      try {
        result = await work();
      } catch (error) {
        if (!stopping.aborted) log.warn({ err: error }, "queue poll failed; trying again");
      }
      const timer = setTimeout(wake.resolve, everyMs);
      await (stopping.aborted ? undefined : wake.promise);
      clearTimeout(timer);
      if (result === "blocked") await shortestPause;
    }
  };
  stopping.addEventListener("abort", () => wake.resolve());
  return { poke: () => wake.resolve(), ended: run() };
}
