/** What a refresh is given by whoever runs it. `commands/refresh/table-refresher.ts` is the other side of it. */
export interface RefreshRequest {
  readonly accountId: number;
  readonly schema: string;
  readonly table: string;
  /** Only what has not changed for so long counts; null: everything does. */
  readonly stableMinutes: number | null;
}

/** What whoever runs a refresh brings along. */
export interface RefreshContext {
  readonly journal: RefreshJournal;
  readonly report: RefreshReport;
  readonly signal: AbortSignal;
}

/** A partition as people are told of it. */
export interface RefreshedPartition {
  /** `day=2026-01-31/city=a%3Ab` */
  readonly name: string;
  readonly location: string;
}

/**
 * What a refresh has added, kept by whoever runs it, so that another one that goes on behind a crash knows: partitions are
 * noted before they are added and settled afterwards.
 */
export interface RefreshJournal {
  /** Noted before a crash and not settled. */
  readonly unsure: readonly NotedPartitions[];
  /** They are about to be added. Outlives a crash once it has settled. */
  note(partitions: readonly RefreshedPartition[]): Promise<NotedPartitions>;
}

export interface NotedPartitions {
  readonly partitions: readonly RefreshedPartition[];
  /** Only these of them have been added. */
  settle(added: readonly RefreshedPartition[]): Promise<void>;
}

export interface RefreshReport {
  say(lines: readonly string[]): Promise<void>;
  /** What it has come to: said however long the log is already. */
  conclude(line: string): Promise<void>;
  /** Percent. */
  progress(percent: number): void;
}
