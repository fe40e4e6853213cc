import { existsSync } from "node:fs";
import { join } from "node:path";
import { followLease } from "./lease.ts";
import { monotonicMs } from "./monotonic.ts";
import { watchForOrphan } from "./orphan.ts";
import { fileNames, type EndCause, type RunSpec } from "./protocol.ts";

export interface EndReason {
  readonly cause: EndCause;
  readonly message: string;
  /** Time between SIGTERM and SIGKILL; 0: the program is killed at once. */
  readonly graceMs: number;
  /** The output is deleted to free its space. */
  readonly dropsOutput?: true;
}

/** The timeout counts from this call. The returned check gives the reason if the program must end now. */
export function watchForEnd(folder: string, spec: RunSpec, bootId: string): () => EndReason | undefined {
  const begin = monotonicMs();
  const limitMs = timeoutAfterMs(spec);
  const lease = spec.leaseFile === null ? undefined : followLease(spec.leaseFile, bootId);
  const orphan = spec.orphan === null ? undefined : watchForOrphan(spec.orphan, bootId);
  const cancelFile = join(folder, fileNames.cancel);
  const graceMs = spec.graceSeconds * 1000;
  return () => {
    if (lease !== undefined && lease.ageMs() >= spec.leaseSeconds * 1000) {
      const message = `the lease was not renewed for ${spec.leaseSeconds} s: this node may have lost contact with the others`;
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

/**
 * Milliseconds from the start of this attempt until the program is ended. Checks happen every `checkSeconds` after the
 * start of the first attempt: a timeout of 80 s with checks every 60 s takes effect after 120 s.
 */
export function timeoutAfterMs(
  spec: Pick<RunSpec, "timeoutSeconds" | "checkSeconds" | "elapsedSeconds">,
): number | undefined {
  if (spec.timeoutSeconds === null) return undefined;
  const checks = Math.max(1, Math.ceil(spec.timeoutSeconds / spec.checkSeconds));
  return Math.max(0, (checks * spec.checkSeconds - spec.elapsedSeconds) * 1000);
}
