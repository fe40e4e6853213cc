type Phase = "listing" | "comparing" | "checking for changes" | "adding";

/** Maximum number of skipped folders that are listed in the log; further ones are only counted. */
const SKIPPED_LINES = 1000;

/** Collects the numbers and skipped folders of a refresh for its log. */
export class RefreshTally {
  found = 0;
  added = 0;
  unsettled = 0;
  #skippedCount = 0;
  #skippedLines: string[] = [];
  readonly #milliseconds = new Map<Phase, number>();

  skip(location: string, why: string): void {
    this.#skippedCount += 1;
    if (this.#skippedCount <= SKIPPED_LINES) this.#skippedLines.push(`skipped: ${location}: ${why}`);
  }

  /** The lines since the last call. */
  takeSkipped(): string[] {
    const lines = this.#skippedLines;
    this.#skippedLines = [];
    return lines;
  }

  /** A line for the folders that were not listed. */
  countSkipped(): string[] {
    const more = this.#skippedCount - SKIPPED_LINES;
    return more > 0 ? [`skipped: ${more} more folders that are not partitions`] : [];
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
      `${this.found} partitions found, ${this.added} added, ${this.unsettled} postponed because they changed recently, ` +
      `${this.#skippedCount} folders skipped; ${times.join(", ")}`
    );
  }
}
