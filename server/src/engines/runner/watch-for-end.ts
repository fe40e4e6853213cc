import { existsSync } from "node:fs";
import { join } from "node:path";
import { followLease } from "./lease.ts";
import { monotonicMs } from "./monotonic.ts";
import { watchForOrphan } from "./orphan.ts";
import { fileNames, type EndCause, type RunSpec } from "./protocol.ts";
import { timeoutAfterMs } from "./timeout.ts";

export interface EndReason {
  readonly cause: EndCause;
  readonly message: string;
  /** 0: nothing is left to be saved, or there is no time for it. */
  readonly graceMs: number;
  /** The room of its output is given back: nobody gets it. */
  readonly dropsOutput?: true;
}

/** Begins to count when it is called. The returned check says why the program has to end now, if it has to. */
export function watchForEnd(folder: string, spec: RunSpec, bootId: string): () => EndReason | undefined {
  const begin = monotonicMs();
  const limitMs = timeoutAfterMs(spec);
  const lease = spec.leaseFile === null ? undefined : followLease(spec.leaseFile, bootId);
  const orphan = spec.orphan === null ? undefined : watchForOrphan(spec.orphan, bootId);
  const cancelFile = join(folder, fileNames.cancel);
  const graceMs = spec.graceSeconds * 1000;
  return () => {
    if (lease !== undefined && lease.ageMs() >= spec.leaseSeconds * 1000) {
      const message = `the lease was not renewed for ${spec.leaseSeconds} s: this node may no longer belong to the others`;
      return { cause: "lease-lost", message, graceMs: 0 };
    }
    if (existsSync(cancelFile)) return { cause: "cancelled", message: "cancelled", graceMs };
    const orphaned = orphan?.();
    if (orphaned !== undefined) return { cause: "stopped", message: orphaned, graceMs };
    if (limitMs === undefined || monotonicMs() - begin < limitMs) return undefined;
    const after = Math.round(limitMs / 1000 + spec.elapsedSeconds);
    const message = `timed out: the timeout is ${spec.timeoutSeconds} s, ended at the check after ${after} s`;
    return { cause: "timeout", message, graceMs };
  };
}
