/** Gives a table the partitions that its folders say there are: the catalog's work, which `app` hands in. */
export type RefreshTable = (request: RefreshRequest, words: RefreshWords) => Promise<void>;

export interface RefreshRequest {
  readonly accountId: number;
  readonly schema: string;
  readonly table: string;
  readonly stableMinutes: number | null;
}

export interface RefreshWords {
  readonly journal: {
    readonly unsure: readonly AddedPartition[];
    settle(added: readonly AddedPartition[]): Promise<void>;
    note(partitions: readonly AddedPartition[]): Promise<void>;
  };
  readonly report: { say(lines: readonly string[]): Promise<void>; progress(percent: number): void };
  readonly signal: AbortSignal;
}

export interface AddedPartition {
  readonly name: string;
  readonly location: string;
}
