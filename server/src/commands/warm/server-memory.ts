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

const DEFAULT_MEMORY_MIB = serverMemoryMiB(NOTHING_CONTRIBUTED);

/** The same before a server of the place has run; `heap`: as its configuration writes it, null without one. */
export function configuredMemoryMiB(heap: string | null): number {
  if (heap === null) return DEFAULT_MEMORY_MIB;
  try {
    return serverMemoryMiB({ ...NOTHING_CONTRIBUTED, properties: { "spark.driver.memory": heap } });
  } catch {
    return DEFAULT_MEMORY_MIB; // it fails with the reason when it is started
  }
}
