import { heapMiB } from "../../engines/connect-server/connect-command-line.ts";
import { NOTHING_CONTRIBUTED, type Contribution } from "../../engines/spark-home/contribution.ts";

/** What a server takes besides its heap: the JVM itself and its runner. */
const OVERHEAD_MIB = 448;
const OVERHEAD_SHARE = 0.1;

/** What a server that is shaped so takes of the node's memory. */
export function serverMemoryMiB(contribution: Contribution): number {
  const heap = heapMiB(contribution);
  return heap + Math.max(OVERHEAD_MIB, Math.ceil(heap * OVERHEAD_SHARE));
}

export const DEFAULT_MEMORY_MIB = serverMemoryMiB(NOTHING_CONTRIBUTED);
