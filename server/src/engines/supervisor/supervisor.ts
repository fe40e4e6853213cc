/**
 * Supervises the processes of one kind that outlive this server: it knows them by key, replaces them when what they are
 * made of changes, notices their death and their silence, and accounts for their memory.
 *
 * | State    | Meaning                                              | Next state                                        |
 * | -------- | ---------------------------------------------------- | ------------------------------------------------- |
 * | starting | added; `ready` is pending                            | up; ending when `ready` fails                     |
 * | up       | can be used                                          | ending when it dies or is silent                  |
 * | draining | another digest is wanted; serves only its holders    | ending after the last release                     |
 * | ending   | cannot be found any more; `stop` is under way        | gone when `stop` settles                          |
 * | released | taken over by its owner, or left to the next server  | none: the supervisor does nothing with it any more |
 *
 * One that starts or is up also changes to draining when its digest is not wanted any more, and to ending when it is
 * evicted or stopped. The owner of the supervisor decides when a process is started, and what follows its death.
 */
import type { Answering } from "../../lib/answering.ts";
import type { Log } from "../../lib/log.ts";

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
  close?(): Promise<void>;

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

export interface SupervisorOptions<Key, Process> {
  readonly keyText: (key: Key) => string;
  /** What log lines call a process, as in "a warm server". */
  readonly name: string;
  /** The log line for a process that does not come up. Absent: a line that says so. */
  readonly startFailure?: string;
  /** Further fields of log lines. */
  readonly describe: (process: Process) => object;
  readonly log: Log;
  readonly onReady?: (process: Process) => Promise<void>;
  /** Called after the last release. */
  readonly onIdle?: (process: Process) => void;
  /** Has to end it. Absent: it is ended, and nothing else happens. */
  readonly onDeath?: (process: Process) => Promise<void>;
  /** Called after `endSilent` has given it up. */
  readonly onSilent?: (process: Process) => void;
  /** Whether one that cannot be watched any more ends. Absent: it stays, and its next user finds out whether it lives. */
  readonly endsUnwatched?: boolean;
}

export class Supervisor<Key, Process extends Supervised<Key>> {
  readonly #options: SupervisorOptions<Key, Process>;
  readonly #processes = new Set<Process>();
  readonly #endings = new Map<Process, Promise<void>>();
  readonly #closed = new AbortController();

  constructor(options: SupervisorOptions<Key, Process>) {
    this.#options = options;
  }

  /** Aborted when this server leaves its processes to the next one. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Those that start, are up or drain. */
  list(): Process[] {
    return [...this.#processes];
  }

  /** Those that can be used. There is more than one only after a restart while one was being replaced. */
  of(key: Key): Process[] {
    const { keyText } = this.#options;
    return this.list().filter((each) => each.isAvailable && keyText(each.key) === keyText(key));
  }

  find(key: Key, digest: string): Process | undefined {
    return this.of(key).find((each) => each.digest === digest);
  }

  /** Those of the key with another digest end, after their last release. */
  drainOthers(key: Key, digest: string): void {
    for (const each of this.of(key)) {
      if (each.digest === digest) continue;
      each.isDraining = true;
      if (each.isIdle) void this.end(each);
    }
  }

  add(process: Process): Process {
    this.#processes.add(process);
    if (this.closed.aborted) process.letGo();
    void this.#watch(process);
    return process;
  }

  /** Prevents eviction, and delays the end of a draining process, until the returned function is called. */
  hold(process: Process): () => void {
    process.users += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      process.users -= 1;
      process.usedAt = performance.now();
      if (!process.isIdle || process.gone.aborted) return;
      if (process.isDraining) void this.end(process);
      else this.#options.onIdle?.(process);
    };
  }

  reservedMiB(): number {
    return this.list().reduce((sum, { memoryMiB }) => sum + memoryMiB, 0);
  }

  /** Ends those that are not held, the longest unused first, until so much memory is free or none is left. */
  evict(neededMiB: number): void {
    let freedMiB = 0;
    const idle = this.list().filter(({ isIdle, memoryMiB }) => isIdle && memoryMiB > 0);
    for (const each of idle.toSorted((one, other) => one.usedAt - other.usedAt)) {
      if (freedMiB >= neededMiB) return;
      freedMiB += each.memoryMiB;
      void this.end(each);
    }
  }

  /** Begins to ask those that match, and gives up the silent ones. */
  endSilent(matches: (process: Process) => boolean = () => true): void {
    for (const each of this.list().filter(matches)) {
      void each.isSilent().then((isSilent) => {
        if (isSilent && this.giveUp(each)) this.#options.onSilent?.(each);
      });
    }
  }

  /** Ends one that lives and is of no use. False: it had gone before. */
  giveUp(process: Process, reason = "does not answer"): boolean {
    if (process.gone.aborted) return false;
    this.#warn(process, {}, `${this.#options.name} ${reason}; it ends`);
    void this.end(process);
    return true;
  }

  /** Hands it over to the caller. False: it had gone before. */
  release(process: Process): boolean {
    process.letGo();
    return this.#processes.delete(process);
  }

  /** Ends it, in use or not. Settles when nothing of it is left. */
  end(process: Process): Promise<void> {
    process.letGo();
    this.#processes.delete(process);
    const known = this.#endings.get(process);
    if (known !== undefined) return known;
    const ending = process
      .stop()
      .catch((error: unknown) => this.#warn(process, { err: error }, `${this.#options.name} could not be ended`))
      .finally(() => this.#endings.delete(process));
    this.#endings.set(process, ending);
    return ending;
  }

  /** Ends those that match. Settles when nothing of them is left, nor of those that were ending already. */
  async stop(matches: (process: Process) => boolean = () => true): Promise<void> {
    for (const each of this.list().filter(matches)) void this.end(each);
    await this.untilEnded(matches);
  }

  /** Waits for those that are ending now. */
  async untilEnded(matches: (process: Process) => boolean): Promise<void> {
    await Promise.all([...this.#endings].flatMap(([each, ending]) => (matches(each) ? [ending] : [])));
  }

  /** Leaves all of them to the next server. */
  async close(): Promise<void> {
    this.#closed.abort();
    const all = this.list();
    this.#processes.clear();
    for (const each of all) each.letGo();
    await Promise.all(all.map(async (each) => each.close?.()));
  }

  async #watch(process: Process): Promise<void> {
    const { name, startFailure = `${name} did not come up` } = this.#options;
    const { onReady, onDeath = (dead) => this.end(dead), endsUnwatched = false } = this.#options;
    const { gone } = process;
    const untilDeath = async (): Promise<void> => {
      await process.ended(gone);
      if (!gone.aborted) await onDeath(process);
    };
    try {
      await process.ready;
    } catch (error) {
      if (gone.aborted) return;
      this.#warn(process, { err: error }, startFailure);
      return this.end(process);
    }
    if (gone.aborted) return;
    try {
      await Promise.all([onReady?.(process), untilDeath()]);
    } catch (error) {
      if (gone.aborted || !endsUnwatched) return;
      this.#warn(process, { err: error }, `${name} cannot be watched; it ends`);
      await this.end(process);
    }
  }

  #warn(process: Process, cause: { err?: unknown }, message: string): void {
    this.#options.log.warn({ ...cause, ...this.#options.describe(process) }, message);
  }
}
