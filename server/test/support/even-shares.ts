/**
 * For equal nodes with equal work: the largest allowed ratio between the commands of the busiest and the idlest node.
 */
const MOST_UNEVEN = 1.5;

export function areEven(counts: readonly number[]): boolean {
  return Math.max(...counts) <= MOST_UNEVEN * Math.min(...counts);
}
