import type { SparkJob } from "./job-counts.ts";

/** One turn of reading. `isLast`: the reply has the state even if there is more to read. */
export interface TurnRequest {
  readonly path: string;
  readonly wants: Wanted;
  readonly isLast: boolean;
}

export type Wanted = "progress" | "jobs";

/** Undefined: there is more to read. */
export type TurnReply = EventLogState | undefined;

/** `jobs` is empty if only the progress is wanted. */
export interface EventLogState {
  readonly progress: number;
  readonly jobs: readonly SparkJob[];
}

/** Reads logs, one turn at a time. */
export interface TurnTaker {
  /** Fails if the thread has ended or does not reply. */
  turn(request: TurnRequest): Promise<TurnReply>;
  stop(): Promise<void>;
}
