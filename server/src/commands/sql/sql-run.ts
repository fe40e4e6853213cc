import { setTimeout as delay } from "node:timers/promises";
import { isStoreAwayFault } from "../../db/store-fault.ts";
import { findResult, type SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import { ConnectError } from "../../engines/spark-connect/connect-error.ts";
import type { ConnectSession } from "../../engines/spark-connect/connect-session.ts";
import { splitLongScript, type SqlStatement } from "../../engines/spark-connect/split-statements.ts";
import { after } from "../../lib/after.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { LineLog } from "../execution/line-log.ts";
import { failed, SUCCEEDED, timeoutCheckAt } from "../execution/run-end.ts";
import { explainFailure, sizeOf } from "../execution/run-log.ts";
import type { LiveRun, Run, RunOutcome, RunState } from "../execution/executor.ts";
import type { WarmServer } from "../warm/warm-server.ts";
import type { HeldServer } from "../warm/warm-servers.ts";
import { ScriptRunner, type ScriptParts } from "./run-script.ts";
import { ResultLoss } from "./run-statement.ts";
import { whenLeaseIsOver, type QueryLimits } from "./query-limits.ts";
import { described } from "./sql-messages.ts";
import {
  calledOff,
  DIED,
  failedBy,
  isOfStatement,
  lostResult,
  MACHINE_RESTARTED,
  type CallOff,
} from "./sql-outcome.ts";
import { ScriptStateFile, type ScriptState, type SqlHandle } from "./script-state.ts";
import { StatementJournal } from "./statement-jobs.ts";

export interface SqlServers {
  acquire(): Promise<HeldServer>;
  reacquire(name: string): Promise<HeldServer | undefined>;
}

const LOOK_EVERY_MS = 1000;
const STORE_RETRY_MS = 500;

/**
 * A script on a warm server: one session, one statement after the other. It runs here, in this process, and its place is
 * kept in the attempt's folder, so that the next Headgate goes on in the middle of a statement.
 */
export class SqlRun implements LiveRun {
  readonly handle: SqlHandle;
  readonly #run: Run;
  readonly #servers: SqlServers;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #limits: QueryLimits;
  readonly #log: LineLog;
  readonly #stateFile: ScriptStateFile;
  readonly #journal: StatementJournal;
  readonly #ending = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #endedBy: CallOff | undefined;
  #begun = false;
  #isLeft = false;
  #server: WarmServer | undefined;
  #progress = 0;
  #pid: number | null = null;
  #statements: readonly SqlStatement[] = [];
  #result: SpooledResult | undefined;
  #outcome: RunOutcome | undefined;

  constructor(
    run: Run,
    servers: SqlServers,
    { headers, limits, bootId }: { headers: Readonly<Record<string, string>>; limits: QueryLimits; bootId: string },
  ) {
    this.handle = { kind: "sql", bootId };
    this.#run = run;
    this.#servers = servers;
    this.#headers = headers;
    this.#limits = limits;
    this.#log = new LineLog(run.files.log, limits.logBytes);
    this.#stateFile = new ScriptStateFile(run.files.folder);
    this.#journal = new StatementJournal(run.files.folder);
  }

  begin(): Promise<void> {
    this.#launch(undefined);
    return Promise.resolve();
  }

  /** Goes on where the last Headgate has left it. */
  async adopt({ bootId }: Partial<SqlHandle>): Promise<void> {
    const state = await this.#stateFile.read();
    if (state !== undefined) this.#launch(state);
    // What a server of ours was told last may not have come to the disk before the machine went down.
    else if (bootId === this.handle.bootId) this.#end({ state: "never-began" });
    else this.#end({ state: "lost", cause: MACHINE_RESTARTED });
  }

  look(): Promise<RunState> {
    return Promise.resolve(this.#outcome ?? { state: "running", pid: this.#pid, progress: this.#progress });
  }

  async changed(signal: AbortSignal): Promise<void> {
    const pause = delay(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    await Promise.race([this.#over.promise, pause]);
  }

  async stop(): Promise<void> {
    this.#callOff("cancelled");
    if (this.#begun) await this.#over.promise;
    else this.#end({ state: "never-began" });
  }

  /** Its statement runs on, for the next Headgate to read. */
  leave(): void {
    this.#isLeft = true;
    this.#ending.abort();
  }

  #launch(state: ScriptState | undefined): void {
    this.#begun = true;
    const limit = timeoutCheckAt(this.#run.timeoutSeconds, this.#limits.checkSeconds) - this.#run.elapsedSeconds;
    const endTimer = after(limit * 1000, () => this.#callOff("timed-out"));
    void this.#conduct(state)
      .catch((error: unknown) => this.#explain(error, state))
      .then(async (outcome) => this.#end(await this.#measured(outcome)))
      .catch((error: unknown) => this.#end(explainFailure(error)))
      .finally(endTimer);
  }

  #end(outcome: RunOutcome): void {
    this.#outcome ??= outcome;
    this.#over.resolve();
  }

  async #conduct(state: ScriptState | undefined): Promise<RunOutcome> {
    this.#statements = await splitLongScript(this.#run.programText ?? "");
    // Statements before the one that was under way may have left it.
    if (state !== undefined) this.#result = await findResult(this.#run.files.folder);
    if (state?.outcome !== undefined) return state.outcome;
    if (state !== undefined && state.statement >= this.#statements.length) return SUCCEEDED;
    const held = await this.#held(state);
    if (held === undefined) {
      this.#ending.signal.throwIfAborted();
      return failed("the Spark server that ran it is gone");
    }
    try {
      await this.#unlessEnding(held.server.ready);
      this.#server = held.server;
      this.#pid = await held.server.process.pid();
      const session = await this.#session(held.server, state);
      const endWatch = held.server.isRemote ? this.#watchRemote(held.server) : () => undefined;
      try {
        await this.#script(held.server, session, state).run();
        return SUCCEEDED;
      } catch (error) {
        if (this.#isLeft) throw error;
        return await this.#saveOutcome(await this.#explain(error, state), held.server);
      } finally {
        endWatch();
        // Nobody waits for it, and the server drops it by itself should this fail.
        if (!this.#isLeft) session.release().catch(() => undefined);
      }
    } finally {
      held.release();
    }
  }

  /** If Headgate crashes before the outcome is in the database, the next start reads it from this file. */
  async #saveOutcome(outcome: RunOutcome, { isRemote }: WarmServer): Promise<RunOutcome> {
    try {
      const state = await this.#stateFile.read();
      if (state !== undefined) await this.#stateFile.write({ ...state, outcome }, { survivesMachine: isRemote });
    } catch {
      // The file cannot be read or written, as on a full disk: this process still knows the outcome.
    }
    return outcome;
  }

  async #held(state: ScriptState | undefined): Promise<HeldServer | undefined> {
    if (state !== undefined) return this.#reacquire(state.server);
    this.#ending.signal.throwIfAborted();
    return this.#unlessEnding(this.#servers.acquire(), (late) => late.release());
  }

  /**
   * Retries while PostgreSQL is unreachable: the statement may still run on the remote server, and giving up would lose
   * its result. Gives up when the lease expires, because another node may already run the query again.
   */
  async #reacquire(server: string): Promise<HeldServer | undefined> {
    const { signal } = this.#ending;
    const endLeaseWatch = whenLeaseIsOver(this.#limits, () => this.#callOff("lease over"));
    try {
      for (;;) {
        signal.throwIfAborted();
        try {
          return await this.#unlessEnding(this.#servers.reacquire(server), (late) => late?.release());
        } catch (error) {
          if (!isStoreAwayFault(error)) throw error;
        }
        await delay(STORE_RETRY_MS, undefined, { signal });
      }
    } finally {
      endLeaseWatch();
    }
  }

  async #session(server: WarmServer, state: ScriptState | undefined): Promise<ConnectSession> {
    const giveBack = (late: ConnectSession): void => void late.release().catch(() => undefined);
    if (state !== undefined) return (await server.ready).session(state.session);
    const session = await this.#unlessEnding(server.takeSession(), giveBack);
    // Somebody else's server may forget it while we are away: its own name for it tells a namesake apart.
    if (server.isRemote) await this.#unlessEnding(session.open(), () => giveBack(session));
    return session;
  }

  /**
   * A server of ours ends with the lease, and its queries end with it. A remote server would go on with the query, so
   * the query has to be ended from here.
   */
  #watchRemote({ stopped }: WarmServer): () => void {
    const endWithServer = (): void => this.#callOff("server stopped");
    stopped.addEventListener("abort", endWithServer, { once: true });
    if (stopped.aborted) endWithServer();
    const endLeaseWatch = whenLeaseIsOver(this.#limits, () => this.#callOff("lease over"));
    return () => {
      stopped.removeEventListener("abort", endWithServer);
      endLeaseWatch();
    };
  }

  #callOff(why: CallOff): void {
    this.#endedBy ??= why;
    this.#ending.abort();
  }

  #script(server: WarmServer, session: ConnectSession, state: ScriptState | undefined): ScriptRunner {
    const parts: ScriptParts = {
      statements: this.#statements,
      server,
      session,
      folder: this.#run.files.folder,
      outputBytes: this.#limits.outputBytes,
      headers: this.#headers,
      log: this.#log,
      stateFile: this.#stateFile,
      journal: this.#journal,
      signal: this.#ending.signal,
      isLeft: () => this.#isLeft,
      advance: (share) => (this.#progress = Math.max(this.#progress, Math.floor(share * 100))),
      noteResult: (result) => (this.#result = result),
    };
    return new ScriptRunner(parts, state);
  }

  async #unlessEnding<T>(work: Promise<T>, undo?: (late: T) => void): Promise<T> {
    return unlessAborted(this.#ending.signal, work, undo);
  }

  async #explain(error: unknown, state: ScriptState | undefined): Promise<RunOutcome> {
    if (this.#endedBy !== undefined) return calledOff(this.#endedBy, this.#run.timeoutSeconds);
    // The store was needed to find the server. No statement has begun, so the command can wait for its turn again.
    if (state === undefined && this.#server === undefined && isStoreAwayFault(error)) return { state: "never-began" };
    if (error instanceof ResultLoss) return lostResult(error);
    if (!(error instanceof ConnectError)) return this.#server?.isUp === false ? failed(DIED) : explainFailure(error);
    if (isOfStatement(error)) await this.#log.explain(described(error));
    return failedBy(error);
  }

  async #measured(outcome: RunOutcome): Promise<RunOutcome> {
    if (outcome.state !== "ended") return outcome;
    await this.#journal.end();
    const logBytes = await sizeOf(this.#run.files.log);
    if (this.#result === undefined) return { ...outcome, logBytes };
    const { bytes, columns, statement } = this.#result;
    const query = this.#statements[statement]?.text ?? "";
    return { ...outcome, outputBytes: bytes, logBytes, resultTable: { query, columns } };
  }
}
