import { heapMiB } from "../../engines/connect-server/connect-command-line.ts";
import { NOTHING_CONTRIBUTED, type Contribution } from "../../engines/spark-home/contribution.ts";

/** The memory of a server besides its heap: the JVM itself and its runner. */
const OVERHEAD_MIB = 448;
const OVERHEAD_SHARE = 0.1;

/** The memory of a server with these contributions. */
export function serverMemoryMiB(contribution: Contribution): number {
  const heap = heapMiB(contribution);
  return heap + Math.max(OVERHEAD_MIB, Math.ceil(heap * OVERHEAD_SHARE));
}

const DEFAULT_MEMORY_MIB = serverMemoryMiB(NOTHING_CONTRIBUTED);

/** The memory of the first server of a place. `heap`: as configured; null: not configured. */
export function configuredMemoryMiB(heap: string | null): number {
  if (heap === null) return DEFAULT_MEMORY_MIB;
  try {
    return serverMemoryMiB({ ...NOTHING_CONTRIBUTED, properties: { "spark.driver.memory": heap } });
  } catch {
    return DEFAULT_MEMORY_MIB; // the start of the server will fail with the reason
  }
}
