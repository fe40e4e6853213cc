import { bytesPerMiB, sizeText } from "../../lib/size-text.ts";
import type { ResourceLimits } from "./protocol.ts";

/** The resources that the operator allows each run on this node. Null: no limit. */
export interface Allowance {
  /** Processes and threads. */
  readonly tasks: number | null;
  /** See `ResourceLimits`. */
  readonly sessions: number | null;
  /** In addition to the memory that the node reserves for the program. */
  readonly memoryBeyondMiB: number | null;
  readonly outputBytes: number | null;
  readonly diskBytes: number | null;
  readonly nice: number;
  /** See `ResourceLimits`. */
  readonly controlGroup: string | null;
}

/** For trusted programs, such as those of tests. */
export const UNLIMITED: Allowance = {
  tasks: null,
  sessions: null,
  memoryBeyondMiB: null,
  outputBytes: null,
  diskBytes: null,
  nice: 0,
  controlGroup: null,
};

/** `memoryMiB` is the memory that the node reserves for the program; for `folder` see `ResourceLimits`. */
export function limitsWithin(allowance: Allowance, memoryMiB: number, folder = "."): ResourceLimits {
  const { tasks, sessions, memoryBeyondMiB, outputBytes, diskBytes, nice, controlGroup } = allowance;
  const memoryBytes = memoryBeyondMiB === null ? null : (memoryMiB + memoryBeyondMiB) * bytesPerMiB;
  return { tasks, sessions, memoryBytes, outputBytes, diskBytes, folder, nice, controlGroup };
}

/** The limits that a sandbox enforces. */
export function sandboxLimits({ tasks, memoryBytes }: ResourceLimits): {
  tasks: number | null;
  sharedMemoryBytes: number | null;
} {
  return { tasks, sharedMemoryBytes: memoryBytes };
}

/** A command whose result exceeds the limit has none, because a part could be mistaken for the whole. */
export function tooMuchOutput(limitBytes: number): string {
  return `too much output: HEADGATE_OUTPUT_LIMIT allows ${sizeText(limitBytes)}, so it has no result`;
}
