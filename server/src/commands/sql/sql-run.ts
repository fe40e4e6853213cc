import { setTimeout as delay } from "node:timers/promises";
import { isStoreUnavailableFault } from "../../db/store-fault.ts";
import { findResult, type SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import { ConnectError } from "../../engines/spark-connect/connect-error.ts";
import type { ConnectSession } from "../../engines/spark-connect/connect-session.ts";
import { splitLongScript, type SqlStatement } from "../../engines/spark-connect/split-statements.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Sandbox } from "../../processes/sandbox/sandbox.ts";
import { InProcessRun, type InProcessLimits } from "../execution/in-process-run.ts";
import { failed, SUCCEEDED, explainFailure, type CommandRun, type RunOutcome } from "../execution/executor.ts";
import { explainHiddenPath } from "../execution/hidden-path.ts";
import { sizeOf } from "../execution/run-log.ts";
import type { WarmServer } from "../warm-servers/warm-server.ts";
import type { HeldServer } from "../warm-servers/warm-servers.ts";
import { ScriptRunner, type ScriptParts } from "./run-script.ts";
import { ResultLoss } from "./run-statement.ts";
import {
  described,
  DIED,
  explainStorageName,
  failedBy,
  isStatementError,
  LEASE_OVER,
  lostResult,
  MACHINE_RESTARTED,
  SERVER_STOPPED,
} from "./sql-outcome.ts";
import { ScriptStateFile, type ScriptState, type SqlHandle } from "./script-state.ts";
import { StatementJournal } from "./statement-jobs.ts";

export interface SqlServers {
  /** `onWait` is called with what the start of the server waits for. */
  acquire(onWait: (text: string) => void): Promise<HeldServer>;
  reacquire(name: string): Promise<HeldServer | undefined>;
}

/** The limits of a query. */
export interface QueryLimits extends InProcessLimits {
  /** The size of the result of a statement. Null: no limit. */
  readonly outputBytes: number | null;
  /** What a query on a server of this machine can see. */
  readonly sandbox: Pick<Sandbox, "kind">;
  /** Whether other nodes may count this one as dead and start its commands again: then its own must not go on. */
  isLeaseOver(): boolean;
}

const STORE_RETRY_MS = 500;
const CHECK_LEASE_MS = 1000;

/**
 * A script on a warm server: one session, one statement after the other. It runs in this process, and its position is
 * kept in the attempt's folder, so that the next server goes on in the middle of a statement.
 */
export class SqlRun extends InProcessRun {
  readonly handle: SqlHandle;
  readonly #servers: SqlServers;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #limits: QueryLimits;
  readonly #stateFile: ScriptStateFile;
  readonly #journal: StatementJournal;
  #server: WarmServer | undefined;
  #statements: readonly SqlStatement[] = [];
  #script: ScriptRunner | undefined;
  #result: SpooledResult | undefined;

  constructor(
    run: CommandRun,
    servers: SqlServers,
    { headers, limits, bootId }: { headers: Readonly<Record<string, string>>; limits: QueryLimits; bootId: string },
  ) {
    super(run, limits);
    this.handle = { kind: "sql", bootId };
    this.#servers = servers;
    this.#headers = headers;
    this.#limits = limits;
    this.#stateFile = new ScriptStateFile(run.files.folder);
    this.#journal = new StatementJournal(run.files.folder);
  }

  begin(): Promise<void> {
    this.#launch(undefined);
    return Promise.resolve();
  }

  /** Goes on where the previous server has left it. */
  async adopt({ bootId }: Partial<SqlHandle>): Promise<void> {
    const state = await this.#stateFile.read();
    if (state !== undefined) this.#launch(state);
    // After a restart of the machine, a missing file proves nothing: it may not have reached the disk in time.
    else if (bootId === this.handle.bootId) this.setOutcome({ state: "never-began" });
    else this.setOutcome({ state: "lost", cause: MACHINE_RESTARTED });
  }

  #launch(state: ScriptState | undefined): void {
    this.launch(async () => {
      const outcome = await this.#conduct(state).catch((error: unknown) => this.#explain(error, state));
      return this.#measured(outcome);
    });
  }

  async #conduct(state: ScriptState | undefined): Promise<RunOutcome> {
    this.#statements = await splitLongScript(this.run.programText ?? "");
    // An earlier statement may have left a result.
    if (state !== undefined) this.#result = await findResult(this.run.files.folder);
    if (state?.outcome !== undefined) return state.outcome;
    if (state !== undefined && state.statement >= this.#statements.length) return SUCCEEDED;
    const held = await this.#held(state);
    if (held === undefined) {
      this.ending.throwIfAborted();
      return failed("the Spark server that ran it is gone");
    }
    try {
      const { isUp, isRemote } = held.server;
      const isStarting = state === undefined && !isUp && !isRemote;
      if (isStarting) await this.log.write("the Spark server for this query is starting");
      await this.#unlessEnding(held.server.ready);
      this.#server = held.server;
      this.pid = await held.server.process.pid();
      const session = await this.#session(held.server, state);
      const endWatch = held.server.isRemote ? this.#watchRemote(held.server) : () => undefined;
      try {
        this.#script = this.#scriptRunner(held.server, session, state);
        await this.#script.run();
        return SUCCEEDED;
      } catch (error) {
        if (this.isLeft) throw error;
        return await this.#saveOutcome(await this.#explain(error, state), held.server);
      } finally {
        endWatch();
        // Not awaited: if this fails, the server drops the session by itself.
        if (!this.isLeft) session.release().catch(() => undefined);
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
    this.ending.throwIfAborted();
    return this.#unlessEnding(
      this.#servers.acquire((text) => void this.log.write(text)),
      (late) => late.release(),
    );
  }

  /**
   * Retries while PostgreSQL is unreachable: the statement may still run on the remote server, and giving up would lose
   * its result. Gives up when the lease expires, because another node may already run the query again.
   */
  async #reacquire(server: string): Promise<HeldServer | undefined> {
    const signal = this.ending;
    const endLeaseWatch = this.#watchLease();
    try {
      for (;;) {
        signal.throwIfAborted();
        try {
          return await this.#unlessEnding(this.#servers.reacquire(server), (late) => late?.release());
        } catch (error) {
          if (!isStoreUnavailableFault(error)) throw error;
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
    // A remote server may lose the session during a restart of Headgate. Its own id of the session reveals that.
    if (server.isRemote) await this.#unlessEnding(session.open(), () => giveBack(session));
    return session;
  }

  /**
   * A local server ends with the lease, and its queries end with it. A remote server would continue the query, so it has
   * to be ended from here.
   */
  #watchRemote({ stopped }: WarmServer): () => void {
    const endWithServer = (): void => this.endBy(SERVER_STOPPED);
    stopped.addEventListener("abort", endWithServer, { once: true });
    if (stopped.aborted) endWithServer();
    const endLeaseWatch = this.#watchLease();
    return () => {
      stopped.removeEventListener("abort", endWithServer);
      endLeaseWatch();
    };
  }

  /** Returns a function that ends the watch. */
  #watchLease(): () => void {
    const timer = setInterval(() => {
      if (this.#limits.isLeaseOver()) this.endBy(LEASE_OVER);
    }, CHECK_LEASE_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  #scriptRunner(server: WarmServer, session: ConnectSession, state: ScriptState | undefined): ScriptRunner {
    const parts: ScriptParts = {
      statements: this.#statements,
      server,
      session,
      folder: this.run.files.folder,
      outputBytes: this.#limits.outputBytes,
      headers: this.#headers,
      log: this.log,
      stateFile: this.#stateFile,
      journal: this.#journal,
      signal: this.ending,
      isLeft: () => this.isLeft,
      advance: (share) => this.advance(Math.floor(share * 100)),
      noteResult: (result) => (this.#result = result),
    };
    return new ScriptRunner(parts, state);
  }

  async #unlessEnding<T>(work: Promise<T>, undo?: (late: T) => void): Promise<T> {
    return unlessAborted(this.ending, work, undo);
  }

  async #explain(error: unknown, state: ScriptState | undefined): Promise<RunOutcome> {
    if (this.endedBy !== undefined) return this.endedBy;
    // The database was needed to find the server. No statement has begun, so the command can wait again.
    if (state === undefined && this.#server === undefined && isStoreUnavailableFault(error))
      return { state: "never-began", isOutage: true };
    if (error instanceof ResultLoss) return lostResult(error);
    if (!(error instanceof ConnectError)) return this.#server?.isUp === false ? failed(DIED) : explainFailure(error);
    if (isStatementError(error)) await this.log.explain(described(error));
    const outcome = failedBy(error, this.#script?.position ?? "", this.#server?.isRemote ?? false);
    return outcome.cause === null ? outcome : { ...outcome, cause: this.#withAdvice(outcome.cause) };
  }

  #withAdvice(cause: string): string {
    if (this.#server?.isRemote === true) return explainStorageName(cause);
    return explainHiddenPath(cause, this.#limits.sandbox, this.run.files);
  }

  async #measured(outcome: RunOutcome): Promise<RunOutcome> {
    if (outcome.state !== "ended") return outcome;
    await this.#journal.end();
    const logBytes = await sizeOf(this.run.files.log);
    if (this.#result === undefined) return { ...outcome, logBytes };
    const { bytes, columns, statement } = this.#result;
    const query = this.#statements[statement]?.text ?? "";
    return { ...outcome, outputBytes: bytes, logBytes, resultTable: { query, columns } };
  }
}
