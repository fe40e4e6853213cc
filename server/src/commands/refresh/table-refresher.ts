/**
 * Gives a table the partitions that its folders say there are: the catalog's work, which `app` hands in. Slices do not
 * import each other, so the two sides of it are declared apart: here by who runs a refresh and keeps its journal, in
 * `catalog/refresh/refresh-context.ts` by who does the work and says what each part means. They must fit where `app`
 * brings them together.
 */
export type RefreshTable = (request: RefreshRequest, context: RefreshContext) => Promise<void>;

export interface RefreshRequest {
  readonly accountId: number;
  readonly schema: string;
  readonly table: string;
  readonly stableMinutes: number | null;
}

export interface RefreshContext {
  readonly journal: {
    readonly unsure: readonly NotedPartitions[];
    note(partitions: readonly AddedPartition[]): Promise<NotedPartitions>;
  };
  readonly report: {
    say(lines: readonly string[]): Promise<void>;
    conclude(line: string): Promise<void>;
    progress(percent: number): void;
  };
  readonly signal: AbortSignal;
}

export interface NotedPartitions {
  readonly partitions: readonly AddedPartition[];
  settle(added: readonly AddedPartition[]): Promise<void>;
}

export interface AddedPartition {
  readonly name: string;
  readonly location: string;
}
