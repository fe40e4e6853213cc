/**
 * Adds the partitions to a table that its folders show and its metastore lacks. The caller runs it, shows its progress
 * and keeps its journal.
 */
export type RefreshTable = (request: RefreshRequest, context: RefreshContext) => Promise<void>;

export interface RefreshRequest {
  readonly accountId: number;
  readonly schema: string;
  readonly table: string;
  /** Folders that have changed within these minutes are left out; null: none are. */
  readonly stableMinutes: number | null;
}

export interface RefreshContext {
  readonly journal: RefreshJournal;
  readonly report: RefreshReport;
  readonly signal: AbortSignal;
}

/** A partition as logs and results show it. */
export interface RefreshedPartition {
  /** `day=2026-01-31/city=a%3Ab` */
  readonly name: string;
  readonly location: string;
}

/**
 * Records the partitions that a refresh adds: they are noted before they are added and settled afterwards. So a refresh
 * that continues after a crash knows what the previous one may have added.
 */
export interface RefreshJournal {
  /** Noted before a crash and not settled. */
  readonly unsure: readonly NotedPartitions[];
  /** Call it before these are added. The note outlives a crash once the promise has settled. */
  note(partitions: readonly RefreshedPartition[]): Promise<NotedPartitions>;
}

export interface NotedPartitions {
  readonly partitions: readonly RefreshedPartition[];
  /** Only these of them have been added. */
  settle(added: readonly RefreshedPartition[]): Promise<void>;
}

export interface RefreshReport {
  say(lines: readonly string[]): Promise<void>;
  /** The summary: written even when the log has reached its limit. */
  conclude(line: string): Promise<void>;
  progress(percent: number): void;
}
