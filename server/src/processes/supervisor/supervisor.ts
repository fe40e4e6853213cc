/**
 * Supervises the processes of one kind that outlive this server. It finds them by key, replaces them when their digest
 * changes, notices when they die or stop answering, and accounts for their memory.
 *
 * | State       | Meaning                                                | Next state                              |
 * | ----------- | ------------------------------------------------------ | --------------------------------------- |
 * | starting    | added; `ready` is pending                              | up; ending when `ready` fails           |
 * | up          | can be used                                            | ending when it dies or does not answer  |
 * | draining    | another digest is wanted; it serves only its holders   | ending after its last holder has left   |
 * | ending      | cannot be found any more; `stop` is under way          | ended when `stop` settles               |
 * | handed over | its owner, or the next server, is responsible for it   | none: the supervisor has forgotten it   |
 *
 * A process that starts or is up also changes to draining when another digest is wanted, and to ending when it is
 * evicted or stopped. The owner of the supervisor decides when a process is started, and what follows its death.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { LivenessProbe } from "../../lib/liveness-probe.ts";
import type { Log } from "../../lib/log.ts";

/** One process under a supervisor. The subclass of its kind starts and stops it. */
export abstract class Supervised<Key> {
  readonly key: Key;
  readonly memoryMiB: number;
  /** Identifies the inputs that it was started with. */
  digest: string;
  /** Monotonic milliseconds. */
  usedAt = performance.now();
  users = 0;
  isDraining = false;
  /** Undefined: it cannot be probed, or not yet. */
  livenessProbe: LivenessProbe | undefined;
  readonly #removed = new AbortController();

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

  /** Whether it is alive and has not answered for a minute. */
  async isSilent(): Promise<boolean> {
    return (await this.livenessProbe?.isSilent()) ?? false;
  }

  /** Aborted when the supervisor is no longer responsible for it: it ends or has been handed over. */
  get removed(): AbortSignal {
    return this.#removed.signal;
  }

  remove(): void {
    this.#removed.abort();
  }

  get isIdle(): boolean {
    return this.users === 0;
  }

  get isAvailable(): boolean {
    return !this.isDraining && !this.removed.aborted;
  }
}

export interface SupervisorOptions<Key, Process> {
  readonly keyText: (key: Key) => string;
  /** The name of a process in log lines, such as "a warm server". */
  readonly name: string;
  /** The log line for a process that does not become ready. Absent: a line that says so. */
  readonly startFailure?: string;
  /** Further fields of log lines. */
  readonly describe: (process: Process) => object;
  readonly log: Log;
  readonly onReady?: (process: Process) => Promise<void>;
  /** Called when its last holder has left. */
  readonly onIdle?: (process: Process) => void;
  /** Must end it. Absent: it is ended, and nothing else happens. */
  readonly onDeath?: (process: Process) => Promise<void>;
  /** Called when `endSilent` has begun to end it. */
  readonly onSilent?: (process: Process) => void;
  /** The pause after an attempt to watch a process has failed. */
  readonly watchAgainMs?: number;
}

const WATCH_AGAIN_MS = 5000;

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

  /** The processes that start, are up or drain. */
  list(): Process[] {
    return [...this.#processes];
  }

  /** Those that can be used. There can be several after this server was restarted while one was being replaced. */
  of(key: Key): Process[] {
    const { keyText } = this.#options;
    return this.list().filter((each) => each.isAvailable && keyText(each.key) === keyText(key));
  }

  find(key: Key, digest: string): Process | undefined {
    return this.of(key).find((each) => each.digest === digest);
  }

  /** Ends the key's processes with other digests, each after its last holder has left. */
  drainOthers(key: Key, digest: string): void {
    for (const each of this.of(key)) {
      if (each.digest === digest) continue;
      each.isDraining = true;
      if (each.isIdle) void this.end(each);
    }
  }

  add(process: Process): Process {
    if (this.closed.aborted) {
      process.remove();
      process.ready.catch(() => undefined); // the next server finds out
      return process;
    }
    this.#processes.add(process);
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
      if (!process.isIdle || process.removed.aborted) return;
      if (process.isDraining) void this.end(process);
      else this.#options.onIdle?.(process);
    };
  }

  reservedMiB(): number {
    return this.list().reduce((sum, { memoryMiB }) => sum + memoryMiB, 0);
  }

  /** Ends processes that are not held, the longest unused first, until enough memory is free or none is left. */
  evict(neededMiB: number): void {
    let freedMiB = 0;
    const idle = this.list().filter(({ isIdle, memoryMiB }) => isIdle && memoryMiB > 0);
    for (const each of idle.toSorted((one, other) => one.usedAt - other.usedAt)) {
      if (freedMiB >= neededMiB) return;
      freedMiB += each.memoryMiB;
      void this.end(each);
    }
  }

  /** Probes the processes that match, and ends those that do not answer. Does not wait for the probes. */
  endSilent(matches: (process: Process) => boolean = () => true): void {
    for (const each of this.list().filter(matches)) {
      void each.isSilent().then((isSilent) => {
        if (isSilent && this.giveUp(each)) this.#options.onSilent?.(each);
      });
    }
  }

  /** Ends a process that is alive but useless. False: it was removed before. */
  giveUp(process: Process, reason = "does not answer"): boolean {
    if (process.removed.aborted) return false;
    this.#warn(process, {}, `${this.#options.name} ${reason}; ending it`);
    void this.end(process);
    return true;
  }

  /** Makes the caller responsible for it. False: it was removed before. */
  handOver(process: Process): boolean {
    process.remove();
    return this.#processes.delete(process);
  }

  /** Ends it, in use or not. Settles when nothing of it is left. */
  end(process: Process): Promise<void> {
    process.remove();
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

  /** Leaves all processes to the next server. */
  async close(): Promise<void> {
    this.#closed.abort();
    const all = this.list();
    this.#processes.clear();
    for (const each of all) each.remove();
    await Promise.all(all.map(async (each) => each.close?.()));
  }

  async #watch(process: Process): Promise<void> {
    const { name, startFailure = `${name} did not become ready` } = this.#options;
    const { onReady, onDeath = (dead) => this.end(dead) } = this.#options;
    const { removed } = process;
    try {
      await process.ready;
    } catch (error) {
      if (removed.aborted) return;
      this.#warn(process, { err: error }, startFailure);
      return this.end(process);
    }
    if (removed.aborted) return;
    onReady?.(process).catch((error: unknown) =>
      this.#warn(process, { err: error }, `${name} is ready, but its preparation failed`),
    );
    await this.#untilDeath(process);
    if (removed.aborted) return;
    await onDeath(process).catch((error: unknown) =>
      this.#warn(process, { err: error }, `${name} died, and handling that failed`),
    );
  }

  /** Settles when the process has died or was removed. A failure to watch it says nothing about the process. */
  async #untilDeath(process: Process): Promise<void> {
    const { name, watchAgainMs = WATCH_AGAIN_MS } = this.#options;
    const { removed } = process;
    for (let failures = 0; !removed.aborted; failures += 1) {
      try {
        return await process.ended(removed);
      } catch (error) {
        if (removed.aborted) return;
        if (failures === 0) this.#warn(process, { err: error }, `${name} cannot be watched; trying again`);
        await delay(watchAgainMs, undefined, { signal: removed, ref: false }).catch(() => undefined);
      }
    }
  }

  #warn(process: Process, cause: { err?: unknown }, message: string): void {
    this.#options.log.warn({ ...cause, ...this.#options.describe(process) }, message);
  }
}
