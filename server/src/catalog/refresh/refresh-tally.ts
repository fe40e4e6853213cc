type Phase = "listing" | "comparing" | "looking for changes" | "adding";

/** Of odd folders so many are named; the others are counted. */
const ODD_LINES = 1000;

/** What a refresh has met, for its log. */
export class RefreshTally {
  found = 0;
  added = 0;
  unsettled = 0;
  #oddCount = 0;
  #oddLines: string[] = [];
  readonly #milliseconds = new Map<Phase, number>();

  odd(location: string, why: string): void {
    this.#oddCount += 1;
    if (this.#oddCount <= ODD_LINES) this.#oddLines.push(`left alone: ${location}: ${why}`);
  }

  /** Those not taken yet. */
  takeOdd(): string[] {
    const lines = this.#oddLines;
    this.#oddLines = [];
    return lines;
  }

  /** A line for those that were not named. */
  countOdd(): string[] {
    const more = this.#oddCount - ODD_LINES;
    return more > 0 ? [`left alone: ${more} more folders that are no partitions`] : [];
  }

  async timed<T>(phase: Phase, work: () => Promise<T>): Promise<T> {
    const began = performance.now();
    try {
      return await work();
    } finally {
      this.#milliseconds.set(phase, (this.#milliseconds.get(phase) ?? 0) + performance.now() - began);
    }
  }

  summary(): string {
    const times = [...this.#milliseconds].map(([phase, ms]) => `${phase} ${(ms / 1000).toFixed(1)} s`);
    return (
      `${this.found} partitions found, ${this.added} added, ${this.unsettled} left because they still change, ` +
      `${this.#oddCount} folders left alone; ${times.join(", ")}`
    );
  }
}
