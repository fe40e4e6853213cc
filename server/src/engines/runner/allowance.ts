import { bytesPerMiB } from "../../lib/size-text.ts";
import type { ResourceLimits } from "./protocol.ts";

/** What an operator lets each run of this node take. Null in it: no limit. */
export interface Allowance {
  /** Processes and threads. */
  readonly tasks: number | null;
  /** As in `ResourceLimits`. */
  readonly sessions: number | null;
  /** Beyond what the program was counted with in the node's memory. */
  readonly memoryBeyondMiB: number | null;
  readonly outputBytes: number | null;
  readonly diskBytes: number | null;
  readonly nice: number;
  /** As in `ResourceLimits`. */
  readonly controlGroup: string | null;
}

/** For programs that are trusted, as in tests. */
export const UNLIMITED: Allowance = {
  tasks: null,
  sessions: null,
  memoryBeyondMiB: null,
  outputBytes: null,
  diskBytes: null,
  nice: 0,
  controlGroup: null,
};

/** Of a program that the node's memory was charged with `memoryMiB` for; `folder` as in `ResourceLimits`. */
export function limitsWithin(allowance: Allowance, memoryMiB: number, folder = "."): ResourceLimits {
  const { tasks, sessions, memoryBeyondMiB, outputBytes, diskBytes, nice, controlGroup } = allowance;
  const memoryBytes = memoryBeyondMiB === null ? null : (memoryMiB + memoryBeyondMiB) * bytesPerMiB;
  return { tasks, sessions, memoryBytes, outputBytes, diskBytes, folder, nice, controlGroup };
}

/** What a sandbox has to know of it. */
export function confinedBy({ tasks, memoryBytes }: ResourceLimits): {
  tasks: number | null;
  sharedMemoryBytes: number | null;
} {
  return { tasks, sharedMemoryBytes: memoryBytes };
}
