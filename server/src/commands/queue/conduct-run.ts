import { setTimeout as delay } from "node:timers/promises";
import type { Queryable } from "../../db/database.ts";
import { isStoreUnavailableFault } from "../../db/store-fault.ts";
import { longTimeout } from "../../lib/long-timeout.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Log } from "../../lib/log.ts";
import type { CommandFiles } from "../execution/command-files.ts";
import { checkMayRunPrograms, type ProgramIsolation } from "../execution/program-isolation.ts";
import type { ClaimedCommand } from "../store/claims.ts";
import { markSpawned, noteProgress, release, settle, type Claim, type SettledCommand } from "../store/queue.ts";
import {
  type LiveRun,
  type PreparedRun,
  type CommandRun,
  type RunnableKind,
  type RunnableKindOf,
  type RunOutcome,
  timedOut,
  timeoutCheckAt,
  explainFailure,
} from "../execution/executor.ts";
import type { QueueMetrics } from "./queue-metrics.ts";
import { logEnd, logStart } from "./command-log-lines.ts";
import { writeToLog } from "../execution/run-log.ts";
import {
  settledOutcome,
  DEFAULT_TIMEOUT_SECONDS,
  settlementOf,
  type SettledOutcome,
  type OrderedEnd,
} from "./settlement.ts";
import type { RunnableCommand } from "../store/command-row.ts";

/**
 * `released`: it could not begin here. `left`: this node still holds the row, because the server stops or something
 * failed; the run is adopted when the rows are read again.
 */
export type RunEnd = "settled" | "released" | "left";

/** The services of the node that a run uses. */
export interface ConductServices {
  readonly db: Queryable;
  readonly log: Log;
  readonly metrics: QueueMetrics;
  readonly timeoutCheckSeconds: number;
  readonly kindOf: RunnableKindOf;
  readonly isolation: ProgramIsolation;
  readonly filesOf: (command: RunnableCommand) => CommandFiles;
  readonly onEnd: (commandId: number) => void;
  /** Aborted when the server stops: runs go on, and the next server adopts them. */
  readonly stopping: AbortSignal;
}

const NEVER_BEGAN_FOR_OUTAGE: RunOutcome = { state: "never-began", isOutage: true };
const STORE_RETRY_MS = 1000;
const TIDY_MS = 10_000;
/** After this time the same node may claim a command again whose run could not begin. */
const RELEASE_DELAY_SECONDS = 2;
const MAX_RELEASES = 5;

/**
 * Conducts one claimed command from the claim to its end. It is the only writer of the row on this node. The dispatcher
 * reports to it when the command was cancelled, and when the row belongs to another node.
 *
 * | step | if the server dies after it |
 * |---|---|
 * | prepare, spawn | no handle: released at the next start; what was spawned ends without having begun |
 * | handle stored | adopted, and begun if it had not begun; or released |
 * | begin … settle | adopted, or found ended, or lost |
 */
export class ConductedRun {
  readonly claim: Claim;
  readonly accountId: number;
  /** The key of the process that it shares with other commands. */
  readonly sharedBy: string | undefined;
  readonly isRestartable: boolean;
  readonly finished: Promise<RunEnd>;
  readonly #command: ClaimedCommand;
  readonly #kind: RunnableKind;
  readonly #run: CommandRun;
  readonly #services: ConductServices;
  /** How often it could not begin on this node. */
  readonly #releases: number;
  readonly #interrupted = new AbortController();
  #order: "run" | "end" | "cancel" | "abandon";
  #end: OrderedEnd | undefined;
  #live: LiveRun | undefined;
  /** Whether the shared process runs this command already; its memory is then counted there. */
  #isInProcess = false;

  constructor(command: ClaimedCommand, nodeId: string, services: ConductServices, releases: number) {
    this.claim = { id: command.id, fence: command.fence, nodeId };
    this.accountId = command.accountId;
    this.#kind = services.kindOf(command);
    this.sharedBy = this.#kind.memory.sharedBy?.(command);
    this.isRestartable = this.#kind.executor.isRestartable === true;
    this.#command = command;
    this.#services = services;
    this.#releases = releases;
    this.#run = runOf(command, services);
    this.#order = command.status === "cancelling" ? "cancel" : "run";
    this.finished = this.#conduct();
  }

  /**
   * A run that shares a process counts the memory that the process will need, until the process has started and is
   * counted itself.
   */
  get memoryMiB(): number {
    if (this.sharedBy === undefined) return this.#command.memoryMiB;
    return this.#isInProcess ? 0 : this.#kind.memory.reservedMiB(this.#command);
  }

  cancel(): void {
    this.#change("cancel");
  }

  /** Orders the run to end. `isFinal`: it is not tried again, and no other node begins it. */
  end(cause: string, { isFinal = false } = {}): void {
    if (this.#order !== "run") return;
    this.#end = { cause, isFinal };
    this.#change("end");
  }

  /** The row belongs to another node: what runs is ended, and nothing is written. */
  abandon(): void {
    this.#change("abandon");
  }

  #change(order: "end" | "cancel" | "abandon"): void {
    if (this.#order !== "abandon") this.#order = order;
    this.#interrupted.abort();
  }

  async #conduct(): Promise<RunEnd> {
    try {
      const early = await this.#begin().catch((error: unknown) => this.#failedToStart(error));
      const outcome = early ?? (await this.#watch());
      if (outcome === undefined) return "left";
      // The store may need the disk space that the run has taken.
      if (outcome.state === "ended" && outcome.kind === "disk-full") await this.#tidy();
      const end = this.#order === "abandon" ? this.#giveUp() : await this.#finish(outcome);
      await this.#tidy();
      return end;
    } catch (error) {
      // It cannot be ended or observed, or its end could not be stored before the server stopped.
      this.#services.log.error(
        { err: error, command: this.claim.id },
        "the supervision of a run failed; the run will be adopted again",
      );
      return "left";
    }
  }

  /**
   * Best effort: leftover files only take disk space. A large removal goes on in the background, because the run holds its
   * memory reservation until this returns.
   */
  async #tidy(): Promise<void> {
    const { log, stopping } = this.#services;
    const tidied = this.#kind.executor
      .tidy(this.#run)
      .catch((error: unknown) => log.warn({ err: error, command: this.claim.id }, "files of a run were not removed"));
    await unlessAborted(AbortSignal.any([stopping, AbortSignal.timeout(TIDY_MS)]), tidied).catch(() => undefined);
  }

  async #begin(): Promise<RunOutcome | undefined> {
    if (this.#command.handle !== null) {
      this.#live = await this.#kind.executor.adopt(this.#run, this.#command.handle);
      return undefined;
    }
    if (this.#secondsLeft() <= 0) return timedOut(this.#run.timeoutSeconds);
    if (this.#order !== "run") return { state: "never-began" };
    // The previous server may have claimed it, and this one is not ready yet.
    if (this.#kind.executor.unready(this.#command) !== null) return { state: "never-began" };
    const prepared = await this.#prepare();
    if ("state" in prepared) return prepared;
    const live = await prepared.spawn();
    this.#live = live;
    const isOurs = await this.#untilStored(() => markSpawned(this.#services.db, this.claim, live.handle));
    if (!isOurs) return { state: "never-began" };
    await live.begin();
    logStart(this.#services.log, this.#command);
    return undefined;
  }

  /** Returns an outcome if the run ends meanwhile: preparing may start a JVM, which a cancelled run does not wait for. */
  async #prepare(): Promise<PreparedRun | RunOutcome> {
    const { executor, runsUsersCode } = this.#kind;
    const { accountId, commandType } = this.#command;
    const late = new AbortController();
    const callOff = longTimeout(this.#secondsLeft() * 1000, () => late.abort());
    const signal = AbortSignal.any([this.#interrupted.signal, this.#services.stopping, late.signal]);
    try {
      if (runsUsersCode) await checkMayRunPrograms(this.#services.isolation, accountId, commandType);
      return await executor.prepare(this.#run, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return signal.reason === late.signal.reason ? timedOut(this.#run.timeoutSeconds) : { state: "never-began" };
    } finally {
      callOff();
    }
  }

  /** Undefined: the server stops, and the run goes on. */
  async #watch(): Promise<RunOutcome | undefined> {
    const live = this.#live;
    let last = { pid: null as number | null, progress: 0 };
    while (live !== undefined) {
      if (this.#order !== "run") await live.stop();
      const seen = await live.poll();
      if (seen.state !== "running") return seen;
      this.#isInProcess ||= seen.pid !== null;
      if (this.#services.stopping.aborted) {
        live.leave?.();
        return undefined;
      }
      if (seen.pid !== last.pid || seen.progress > last.progress) {
        if (await this.#noteProgress(seen)) last = seen;
      }
      await live.changed(AbortSignal.any([this.#interrupted.signal, this.#services.stopping]));
    }
    return { state: "never-began" };
  }

  /** False: not stored, because the database is unreachable. */
  async #noteProgress(seen: { pid: number | null; progress: number }): Promise<boolean> {
    try {
      if (!(await noteProgress(this.#services.db, this.claim, seen))) this.abandon();
      return true;
    } catch {
      return false;
    }
  }

  #giveUp(): RunEnd {
    this.#services.metrics.fenceRejected();
    return "settled";
  }

  async #finish(outcome: RunOutcome): Promise<RunEnd> {
    const orderedEnd = this.#order === "end" ? this.#end : undefined;
    const isOutage = outcome.state === "never-began" && outcome.isOutage === true;
    // Undefined: it never began, and any node may claim it.
    const ended = settledOutcome(outcome, orderedEnd) ?? (isOutage ? undefined : this.#outOfPatience());
    if (outcome.state === "never-began") await this.#live?.stop();
    const { log, metrics, onEnd } = this.#services;
    const finish = ended === undefined ? await this.#release() : await this.#settle(ended);
    if (finish === undefined) metrics.fenceRejected();
    else if (finish.status !== "running") onEnd(this.claim.id);
    const waitsAgain = ended === undefined && finish?.status === "running";
    if (finish !== undefined && !waitsAgain) logEnd(log, this.#command, finish);
    return ended === undefined && !isOutage ? "released" : "settled";
  }

  async #release(): Promise<Finish | undefined> {
    const pause = this.#order === "run" ? RELEASE_DELAY_SECONDS : 0;
    const status = await this.#untilStored(() => release(this.#services.db, this.claim, pause));
    return status === undefined ? undefined : { status, seconds: null };
  }

  async #settle(ended: SettledOutcome): Promise<Finish | undefined> {
    const { db, metrics } = this.#services;
    const settlement = settlementOf(this.#command, ended, this.#secondsLeft());
    await writeToLog(this.#run.files, settlement);
    const staysOnNode = this.#kind.executor.localState !== undefined;
    const settled = await this.#untilStored(() => settle(db, this.claim, settlement, staysOnNode));
    if (settled !== undefined) metrics.settled(this.#command.commandType, settled);
    return settled;
  }

  /** Gives up a run that failed to begin several times. */
  #outOfPatience(): SettledOutcome | undefined {
    const isWanted = this.#order === "run" && !this.#services.stopping.aborted;
    if (!isWanted || this.#releases < MAX_RELEASES) return undefined;
    return { state: "lost", cause: "its runner could not be started; the log of the server says more" };
  }

  /** While the database is unavailable, a run that has begun is left, and any other waits again. */
  async #failedToStart(error: unknown): Promise<RunOutcome> {
    if (isStoreUnavailableFault(error) && this.#command.handle !== null) throw error;
    const outcome = isStoreUnavailableFault(error) ? NEVER_BEGAN_FOR_OUTAGE : explainFailure(error);
    const level = outcome.state === "ended" && outcome.kind === "refused" ? "debug" : "warn";
    this.#services.log[level]({ err: error, command: this.claim.id }, "a command could not be started");
    await this.#live?.stop();
    return outcome;
  }

  /** The time until the check at which it times out. */
  #secondsLeft(): number {
    const { timeoutSeconds, elapsedSeconds } = this.#run;
    return timeoutCheckAt(timeoutSeconds, this.#services.timeoutCheckSeconds) - elapsedSeconds;
  }

  /** Retries while the database is unreachable. Fails only when the server stops. */
  async #untilStored<T>(write: () => Promise<T>): Promise<T> {
    const { log, stopping } = this.#services;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (stopping.aborted) throw error;
        log.warn({ err: error, command: this.claim.id }, "the queue could not be written; trying again");
        await delay(STORE_RETRY_MS, undefined, { signal: stopping }).catch(() => undefined);
      }
    }
  }
}

type Finish = Pick<SettledCommand, "status" | "seconds">;

function runOf(command: ClaimedCommand, { filesOf }: ConductServices): CommandRun {
  const claimedAt = performance.now();
  return {
    command,
    programText: command.programText,
    requestId: command.requestId,
    attempt: command.attempt,
    fence: command.fence,
    timeoutSeconds: command.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
    get elapsedSeconds() {
      return (command.elapsedSeconds ?? 0) + (performance.now() - claimedAt) / 1000;
    },
    files: filesOf(command).attempt(command.attempt),
  };
}
