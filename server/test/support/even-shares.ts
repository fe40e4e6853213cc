/** Equal nodes with equal work run about as many commands: the busiest at most so many times as many as the idlest. */
const MOST_UNEVEN = 1.5;

export function areEven(counts: readonly number[]): boolean {
  return Math.max(...counts) <= MOST_UNEVEN * Math.min(...counts);
}
