import { isDiskFullError } from "../../processes/runner/disk-full.ts";
import { tooMuchOutput } from "../../processes/runner/allowance.ts";
import {
  createSpool,
  reopenSpool,
  SpoolLimitError,
  type SpoolTarget,
  type SpoolWriter,
} from "../../engines/arrow-result/spool-writer.ts";
import type { ResultColumn, SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import type { ConnectWork } from "../../engines/spark-connect/connect-event.ts";
import type { ConnectExecution } from "../../engines/spark-connect/connect-execution.ts";
import type { ConnectSession } from "../../engines/spark-connect/connect-session.ts";
import { typeText } from "../../engines/spark-connect/spark-type.ts";

export interface StatementToRun {
  readonly sql: string;
  /** Its position in the script, from 0. */
  readonly index: number;
  readonly operationId: string;
  /** The folder of the attempt. */
  readonly folder: string;
  /** How large its result may be. Null: no limit. */
  readonly outputBytes: number | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Columns that were known before a restart; undefined: the statement starts now. */
  readonly resumed: { readonly columns: readonly ResultColumn[] | null } | undefined;
  readonly signal: AbortSignal;
}

export interface StatementObserver {
  columns(columns: readonly ResultColumn[]): Promise<void>;
  progress(percent: number, work: ConnectWork): void;
  /** Called when the result is on the disk. The server keeps the statement until this settles. */
  finished(result: SpooledResult | undefined): Promise<void>;
}

/** The result could not be written to the disk; the message says why. */
export class ResultLoss extends Error {
  override readonly name = "ResultLoss";
  readonly isDiskFull: boolean;

  constructor(cause: unknown) {
    const isFull = isDiskFullError(cause) || (cause instanceof Error && isDiskFullError(cause.cause));
    super(lossText(cause, isFull), { cause });
    this.isDiskFull = isFull;
  }
}

function lossText(cause: unknown, isDiskFull: boolean): string {
  if (cause instanceof SpoolLimitError) return tooMuchOutput(cause.limitBytes);
  return `its result cannot be stored${isDiskFull || !(cause instanceof Error) ? "" : `: ${cause.message}`}`;
}

async function kept<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new ResultLoss(error);
  }
}

/**
 * Runs one statement, or goes on with it after a restart, and writes its rows into the spool. The memory in use does not
 * grow with the result: the stream waits for the disk.
 */
export async function runStatement(
  session: ConnectSession,
  statement: StatementToRun,
  observer: StatementObserver,
): Promise<void> {
  const { folder, index, outputBytes } = statement;
  const target: SpoolTarget = {
    folder,
    statement: index,
    ...(outputBytes === null ? {} : { limitBytes: outputBytes }),
  };
  const spool = statement.resumed === undefined ? await createSpool(target) : await reopenSpool(target);
  try {
    await readInto(spool, execution(session, statement, spool), statement, observer);
  } catch (error) {
    await spool.close().catch(() => undefined);
    throw error;
  }
}

function execution(session: ConnectSession, statement: StatementToRun, spool: SpoolWriter): ConnectExecution {
  const { sql, operationId, headers, signal } = statement;
  const position = spool.lastSynced()?.position;
  // The server goes on with an operation that it knows by this id, and begins one that it does not know.
  if (position === undefined) return session.execute(sql, { operationId, headers, signal });
  return session.resume({ operationId, position, signal });
}

async function readInto(
  spool: SpoolWriter,
  events: ConnectExecution,
  { resumed }: StatementToRun,
  observer: StatementObserver,
): Promise<void> {
  let columns = resumed?.columns ?? [];
  let released = spool.lastSynced()?.position;
  for await (const event of events) {
    switch (event.kind) {
      case "schema":
        columns = event.fields.map(({ name, type }) => ({ name, type: typeText(type) }));
        await observer.columns(columns);
        break;
      case "batch": {
        await kept(spool.append(event));
        const safe = spool.lastSynced()?.position;
        if (safe !== undefined && safe !== released) events.release(safe);
        released = safe;
        break;
      }
      case "progress":
        observer.progress(event.percent, event.work);
        break;
      case "complete":
        await observer.finished(await kept(spool.finish(columns)));
    }
  }
}
