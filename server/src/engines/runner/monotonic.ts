/**
 * Milliseconds that never jump and go on while a process is stopped. The same for all processes of the machine until
 * it is started again, so that one process may write a time down and another compare it with its own.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
