/**
 * For equal nodes with equal work: the largest allowed ratio between the commands of the busiest and the idlest node.
 */
const MAX_RATIO = 1.5;

export function areEven(counts: readonly number[]): boolean {
  return Math.max(...counts) <= MAX_RATIO * Math.min(...counts);
}
