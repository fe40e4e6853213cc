/** How long one kind of work waits for PostgreSQL, and how many connections it may use. */
export interface WorkLimits {
  readonly connections: number;
  /** To open a connection. */
  readonly connectMs: number;
  /** PostgreSQL itself cancels a statement that takes longer. */
  readonly statementMs: number;
  /**
   * From requesting a connection to the last reply. Longer than `statementMs`, because PostgreSQL's own error says
   * more.
   */
  readonly unitMs: number;
  /** Like `statementMs` and `unitMs`, for reads that request it (`patientReader`). */
  readonly patientStatementMs: number;
  readonly patientUnitMs: number;
}

const patient = { patientStatementMs: 20_000, patientUnitMs: 25_000 };

/**
 * A client is waiting. These deadlines are for a slow database; one that does not respond at all is detected within
 * five seconds by `outage-watch.ts`, for every kind of work.
 */
export const requestWork: WorkLimits = {
  connections: 16,
  connectMs: 4_000,
  statementMs: 10_000,
  unitMs: 12_000,
  ...patient,
};

/** The queue and the periodic tasks. They have their own connections, so requests never wait for them. */
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
 * The operating system closes an idle connection about 20 seconds after the other side has disappeared. Statements in
 * progress have their deadline instead.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;
