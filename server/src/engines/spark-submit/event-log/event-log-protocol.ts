import type { SparkJob } from "./job-counts.ts";

/** One turn of reading. `isLast`: answers afterwards, even if there is more to read. */
export interface TurnRequest {
  readonly path: string;
  readonly wants: Wanted;
  readonly isLast: boolean;
}

export type Wanted = "progress" | "jobs";

/** One for each turn. Undefined: there is more to read. */
export type TurnReply = EventLogState | undefined;

/** `jobs` is empty where only the progress is wanted. */
export interface EventLogState {
  readonly progress: number;
  readonly jobs: readonly SparkJob[];
}

/** Takes one turn at a time. */
export interface TurnTaker {
  /** Fails when it has ended, or does not answer. */
  turn(request: TurnRequest): Promise<TurnReply>;
  stop(): Promise<void>;
}
