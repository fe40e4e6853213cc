import type { RunSpec } from "./protocol.ts";

/**
 * Milliseconds after this attempt's start at which the program is ended. Checks fall at the start of the first attempt
 * + k × checkSeconds: a timeout of 80 s with checks every 60 s ends at 120 s.
 */
export function timeoutAfterMs(
  spec: Pick<RunSpec, "timeoutSeconds" | "checkSeconds" | "elapsedSeconds">,
): number | undefined {
  if (spec.timeoutSeconds === null) return undefined;
  const checks = Math.max(1, Math.ceil(spec.timeoutSeconds / spec.checkSeconds));
  return Math.max(0, (checks * spec.checkSeconds - spec.elapsedSeconds) * 1000);
}
