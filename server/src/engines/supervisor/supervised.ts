import type { Answering } from "../../lib/answering.ts";

/** One process under a supervisor. Its kind says how it starts and stops, and when it can be used. */
export abstract class Supervised<Key> {
  readonly key: Key;
  readonly memoryMiB: number;
  /** Of everything that it is made of. */
  digest: string;
  /** Monotonic milliseconds. */
  usedAt = performance.now();
  users = 0;
  isDraining = false;
  /** Asks it whether it answers. Undefined: it cannot be asked yet, or never. */
  answering: Answering | undefined;
  readonly #gone = new AbortController();

  constructor(key: Key, digest: string, memoryMiB: number) {
    this.key = key;
    this.digest = digest;
    this.memoryMiB = memoryMiB;
  }

  /** Settles when it can be used; fails with the reason when it never will. */
  abstract readonly ready: Promise<unknown>;

  /** Settles when it has ended, or the signal is aborted. */
  abstract ended(signal: AbortSignal): Promise<void>;

  /** Settles when nothing of it is left. Waits for a start that is under way. */
  abstract stop(): Promise<void>;

  /** Closes the connections of this server to it; the process runs on. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Whether it lives and has not answered for a minute. */
  async isSilent(): Promise<boolean> {
    return (await this.answering?.isSilent()) ?? false;
  }

  /** Aborted when it ends, is released, or is left to the next server. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  letGo(): void {
    this.#gone.abort();
  }

  get isIdle(): boolean {
    return this.users === 0;
  }

  get isAvailable(): boolean {
    return !this.isDraining && !this.gone.aborted;
  }
}
