/**
 * Milliseconds that never jump and continue while a process is suspended. All processes of a machine share this clock
 * until the next boot, so one process may store a time and another compare it with its own.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
