/**
 * Limits the memory that file contents occupy. Requests are granted in order, so that smaller ones cannot overtake a large
 * one for ever. A request above the limit is granted when nothing else is taken.
 */
export class ByteBudget {
  readonly #total: number;
  #taken = 0;
  readonly #waiting: {
    readonly bytes: number;
    readonly grant: () => void;
    readonly refuse: (reason: Error) => void;
  }[] = [];

  constructor(totalBytes: number, signal: AbortSignal) {
    this.#total = totalBytes;
    signal.addEventListener(
      "abort",
      () => {
        for (const { refuse } of this.#waiting.splice(0)) refuse(signal.reason as Error); // aborted with an Error
      },
      { once: true },
    );
  }

  /** Undefined: granted at once. */
  take(bytes: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#taken += bytes;
      return undefined;
    }
    return new Promise((grant, refuse) => this.#waiting.push({ bytes, grant, refuse }));
  }

  give(bytes: number): void {
    this.#taken -= bytes;
    for (let [next] = this.#waiting; next !== undefined && this.#fits(next.bytes); [next] = this.#waiting) {
      this.#waiting.shift();
      this.#taken += next.bytes;
      next.grant();
    }
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#total;
  }
}
