import type { RunSpec } from "./protocol.ts";

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
