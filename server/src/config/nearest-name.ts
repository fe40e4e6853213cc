/** The name that the fewest inserted, removed or replaced letters turn `wrong` into; null when none resembles it. */
export function nearestName(wrong: string, names: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.ceil(wrong.length / 2);
  for (const name of names) {
    const distance = editDistance(wrong, name);
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (previous[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
