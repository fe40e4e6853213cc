import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ResultColumn, SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import type { ConnectSession } from "../../engines/spark-connect/connect-session.ts";
import type { SqlStatement } from "../../engines/spark-connect/split-statements.ts";
import type { LineLog } from "../execution/run-log.ts";
import type { WarmServer } from "../warm-servers/warm-server.ts";
import { runStatement, type StatementObserver } from "./run-statement.ts";
import type { ScriptState, ScriptStateFile } from "./script-state.ts";
import type { StatementJournal, StatementRecord } from "./statement-jobs.ts";

export interface ScriptParts {
  readonly statements: readonly SqlStatement[];
  readonly server: Pick<WarmServer, "name" | "isRemote">;
  readonly session: ConnectSession;
  /** The folder of the attempt. */
  readonly folder: string;
  /** How large the result of a statement may be. Null: no limit. */
  readonly outputBytes: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly log: LineLog;
  readonly stateFile: ScriptStateFile;
  readonly journal: StatementJournal;
  /** Ends the script. */
  readonly signal: AbortSignal;
  /** Whether the statement goes on for the next server after the signal. */
  readonly isLeft: () => boolean;
  /** The share of the script that is done, from 0 to 1. */
  readonly advance: (share: number) => void;
  /** Called with each result: the last one is the script's. */
  readonly noteResult: (result: SpooledResult) => void;
}

const LONGEST_STATEMENT = 200;

/** A cancel does not wait longer for an interrupt; the release of the session then ends the statement. */
const INTERRUPT_PATIENCE_MS = 5000;

/**
 * Runs the statements of a script in one session. Its position is kept in the attempt's folder, so that the next server can
 * go on in the middle of a statement.
 */
export class ScriptRunner {
  readonly #parts: ScriptParts;
  /** The state that the previous server has left; undefined: the script has not begun. */
  readonly #found: ScriptState | undefined;
  #current: ScriptState;

  constructor(parts: ScriptParts, found: ScriptState | undefined) {
    this.#parts = parts;
    this.#found = found;
    this.#current = found ?? this.#state(0);
  }

  /** The number of the current statement, for errors: Spark counts the lines of each statement from 1. Empty for a single one. */
  get position(): string {
    const { statements } = this.#parts;
    return statements.length < 2 ? "" : `${this.#numbered(this.#current.statement)}: `;
  }

  #numbered(index: number): string {
    return `statement ${index + 1} of ${this.#parts.statements.length}`;
  }

  async run(): Promise<void> {
    const { statements, log, journal } = this.#parts;
    const found = this.#found;
    if (found === undefined) {
      // An empty log would look like a log that was removed.
      if (statements.length === 0) await log.write("the script has no statements");
      await this.#write(this.#current);
    }
    for (const [index, statement] of statements.entries()) {
      if (index < this.#current.statement) continue;
      const { operationId } = this.#current;
      const resumed = found?.operationId === operationId ? { columns: found.columns } : undefined;
      if (resumed === undefined) {
        await log.write(`${this.#numbered(index)}: ${shortened(statement.text)}`);
      }
      const record = journal.begin(index, resumed !== undefined);
      const observer = this.#observe({ index, operationId, record });
      await this.#statement(statement.text, { index, operationId, resumed, observer, record });
    }
  }

  #observe({ index, operationId, record }: Pick<StatementStep, "index" | "operationId" | "record">): StatementObserver {
    const { statements, log, advance, noteResult } = this.#parts;
    return {
      columns: (columns) => this.#write(this.#state(index, columns, operationId)),
      progress: (percent, work) => {
        record.progress(work);
        advance((index + percent / 100) / statements.length);
      },
      finished: async (result) => {
        if (result !== undefined) noteResult(result);
        record.end("succeeded");
        advance((index + 1) / statements.length);
        await log.write(result === undefined ? "done" : `done, ${result.rows} rows`);
        this.#current = this.#state(index + 1);
        await this.#write(this.#current);
      },
    };
  }

  async #statement(sql: string, { index, operationId, resumed, observer, record }: StatementStep): Promise<void> {
    const { session, folder, outputBytes, headers, signal, isLeft } = this.#parts;
    const interrupt = (): void => {
      if (isLeft()) return;
      const patience = delay(INTERRUPT_PATIENCE_MS, undefined, { ref: false });
      void Promise.race([session.interrupt(operationId), patience]).catch(() => undefined);
    };
    signal.throwIfAborted();
    signal.addEventListener("abort", interrupt, { once: true });
    try {
      const statement = { sql, index, operationId, folder, outputBytes, headers, resumed, signal };
      await runStatement(session, statement, observer);
    } catch (error) {
      if (!signal.aborted) record.end("failed");
      throw error;
    } finally {
      signal.removeEventListener("abort", interrupt);
    }
  }

  #state(statement: number, columns: ScriptState["columns"] = null, operationId: string = randomUUID()): ScriptState {
    const { server, session } = this.#parts;
    return {
      version: 1,
      server: server.name,
      session: { id: session.id, serverSideId: session.serverSideId },
      statement,
      operationId,
      columns,
    };
  }

  #write(state: ScriptState): Promise<void> {
    const { stateFile, server } = this.#parts;
    return stateFile.write(state, { survivesMachine: server.isRemote });
  }
}

interface StatementStep {
  readonly index: number;
  readonly operationId: string;
  readonly resumed: { readonly columns: readonly ResultColumn[] | null } | undefined;
  readonly observer: StatementObserver;
  readonly record: StatementRecord;
}

/** One line, for the log. */
function shortened(sql: string): string {
  const line = sql.replaceAll(/\s+/g, " ");
  return line.length > LONGEST_STATEMENT ? `${line.slice(0, LONGEST_STATEMENT)} …` : line;
}
