import { parentPort } from "node:worker_threads";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { measureUsage } from "../../lib/disk-usage.ts";

export interface AccountToMeasure {
  /** `<data>/accounts/<id>`. */
  readonly folder: string;
  /** Names of the folders of its running commands, which are measured every time. */
  readonly running: readonly string[];
  /** The least size that a file or folder counts with. */
  readonly minBytes: number;
}

const COMMANDS = "commands";
/** A measured size expires, because pruning removes files of ended commands. */
const KNOWN_FOR_MS = 10 * 60_000;

/**
 * Measures accounts' folders. The folder of an ended command is measured once in ten minutes, so the cost depends on what
 * has changed rather than on how much is stored.
 */
class AccountMeter {
  readonly #known = new Map<string, { readonly bytes: number; readonly at: number }>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  measure({ folder, running, minBytes }: AccountToMeasure): number {
    const commands = join(folder, COMMANDS);
    let bytes = 0;
    for (const name of namesIn(folder)) if (name !== COMMANDS) bytes += walk(join(folder, name), minBytes);
    const live = new Set(running);
    const there = new Set(namesIn(commands).map((name) => join(commands, name)));
    for (const path of this.#known.keys())
      if (path.startsWith(`${commands}/`) && !there.has(path)) this.#known.delete(path);
    for (const path of there) bytes += this.#commandBytes(path, live.has(path.slice(commands.length + 1)), minBytes);
    return bytes;
  }

  #commandBytes(path: string, isRunning: boolean, minBytes: number): number {
    const known = this.#known.get(path);
    if (!isRunning && known !== undefined && this.#now() - known.at < KNOWN_FOR_MS) return known.bytes;
    const bytes = walk(path, minBytes);
    if (isRunning) this.#known.delete(path);
    else this.#known.set(path, { bytes, at: this.#now() });
    return bytes;
  }
}

function walk(path: string, minBytes: number): number {
  const steps = measureUsage(path, minBytes);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the folder does not exist yet
  }
}

/** Measures in a thread of its own, because a folder with a million files takes seconds. */
const meter = new AccountMeter();
parentPort?.on("message", (account: AccountToMeasure) => {
  parentPort?.postMessage(meter.measure(account), []);
});
