/**
 * Adds to a table the partitions that have a folder but are missing in the metastore. The caller shows the progress and
 * stores the journal.
 */
export type RefreshTable = (request: RefreshRequest, context: RefreshContext) => Promise<void>;

export interface RefreshRequest {
  readonly accountId: number;
  readonly schema: string;
  readonly table: string;
  /** Folders that changed within this time are skipped. Null: none are. */
  readonly stableMinutes: number | null;
}

export interface RefreshContext {
  readonly journal: RefreshJournal;
  readonly report: RefreshReport;
  readonly signal: AbortSignal;
}

/** A partition as it appears in logs and results. */
export interface RefreshedPartition {
  /** `day=2026-01-31/city=a%3Ab` */
  readonly name: string;
  readonly location: string;
}

/**
 * A write-ahead log of the partitions that a refresh adds: each batch is noted before it is added and settled
 * afterwards. A refresh that resumes after a crash therefore knows which partitions its predecessor may have added.
 */
export interface RefreshJournal {
  /** Batches that were noted but not settled before a crash: they may or may not have been added. */
  readonly unsettled: readonly NotedPartitions[];
  /** Must be called before the partitions are added. The note survives a crash once the promise is fulfilled. */
  note(partitions: readonly RefreshedPartition[]): Promise<NotedPartitions>;
}

export interface NotedPartitions {
  readonly partitions: readonly RefreshedPartition[];
  /** Records which of the noted partitions were really added. */
  settle(added: readonly RefreshedPartition[]): Promise<void>;
}

export interface RefreshReport {
  log(lines: readonly string[]): Promise<void>;
  /** Written even when the log has reached its size limit. */
  logSummary(line: string): Promise<void>;
  progress(percent: number): void;
}
