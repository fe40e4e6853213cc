/** How long one kind of work waits for PostgreSQL, and how many connections it may take. */
export interface WorkLimits {
  readonly connections: number;
  /** To open a connection. */
  readonly connectMs: number;
  /** PostgreSQL itself ends a statement that takes longer. */
  readonly statementMs: number;
  /** From asking for a connection to the last answer: longer than a statement, whose own end tells more. */
  readonly unitMs: number;
  /** As `statementMs` and `unitMs`, for reads that ask for it (`patientReader`). */
  readonly patientStatementMs: number;
  readonly patientUnitMs: number;
}

const patient = { patientStatementMs: 20_000, patientUnitMs: 25_000 };

/**
 * A client waits. These deadlines are for a database that is slow: one that does not answer at all is noticed within five seconds
 * by `outage-watch.ts`, whatever the kind of work.
 */
export const requestWork: WorkLimits = {
  connections: 16,
  connectMs: 4_000,
  statementMs: 10_000,
  unitMs: 12_000,
  ...patient,
};

/** The queue and the periodic tasks. They have connections of their own, so requests never wait for those. */
export const backgroundWork: WorkLimits = {
  connections: 6,
  connectMs: 5_000,
  statementMs: 20_000,
  unitMs: 25_000,
  ...patient,
};

/** The operator's command line, which may change every row of a large installation. */
export const operatorWork: WorkLimits = {
  connections: 2,
  connectMs: 10_000,
  statementMs: 3_600_000,
  unitMs: 3_700_000,
  patientStatementMs: 3_600_000,
  patientUnitMs: 3_700_000,
};

/**
 * The operating system closes an idle connection whose other side has gone without a word, some 20 seconds after it
 * has. A statement under way has its deadline instead.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;
