import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import { setTimeout as delay } from "node:timers/promises";
import {
  listProcesses,
  listProcessLinks,
  readBootId,
  type ProcessFacts,
  type ProcessLinks,
} from "../../src/lib/process-table.ts";
import { startNode, type NodeProcess } from "../support/node-process.ts";

export interface ChaosNodeOptions {
  readonly dataDir: string;
  readonly connection: ClientConfig;
  readonly settings: Record<string, string>;
  readonly accountId: number;
  /** The file all drivers of all nodes write to. */
  readonly journal: string;
}

const START_PATIENCE_MS = 45_000;

/** A node that is killed and started again; what runs on it goes on meanwhile. */
export class ChaosNode {
  readonly #options: ChaosNodeOptions;
  #process: NodeProcess | undefined;

  constructor(options: ChaosNodeOptions) {
    this.#options = options;
    const storage = join(options.dataDir, "accounts", String(options.accountId), "storage");
    mkdirSync(storage, { recursive: true, mode: 0o711 });
    // The same file under a path that each node's sandbox shows.
    linkSync(options.journal, join(storage, "journal"));
  }

  /** Undefined: it is down. */
  get url(): string | undefined {
    return this.#process?.url;
  }

  async start(): Promise<void> {
    const { dataDir, connection, settings } = this.#options;
    const end = performance.now() + START_PATIENCE_MS;
    while (this.#process === undefined) {
      try {
        this.#process = await startNode(dataDir, connection, settings);
      } catch (error) {
        // Its database may be away at that moment, but not for ever.
        if (performance.now() > end) throw error;
        await delay(500);
      }
    }
  }

  async crash(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    await running?.crash();
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#process?.signal(name);
  }

  runners(): Promise<ProcessFacts[]> {
    return this.#processes((line) => line.includes("runner.mjs"));
  }

  /** Any process of theirs, inside of the sandbox or around it. */
  drivers(): Promise<ProcessFacts[]> {
    return this.#processes((line) => !line.includes("runner.mjs"));
  }

  async #processes(isWanted: (commandLine: string) => boolean): Promise<ProcessFacts[]> {
    const own = join(this.#options.dataDir, "accounts");
    return (await listProcesses()).filter(({ commandLine }) => commandLine.includes(own) && isWanted(commandLine));
  }

  /** As if the power went: nothing of the node is left running, and no process of before has a name any more. */
  async loseMachine(): Promise<number[]> {
    await this.crash();
    const hit = new Set<number>();
    for (;;) {
      const roots = [...(await this.runners()), ...(await this.drivers())];
      if (roots.length === 0) break;
      for (const { commandLine } of roots) hit.add(commandIn(commandLine));
      for (const pid of withDescendants(new Set(roots.map(({ pid }) => pid)), await listProcessLinks())) kill(pid);
      await delay(20);
    }
    await this.#forgetBootId();
    return [...hit];
  }

  /** The files of the last boot name another id than the machine has now. */
  async #forgetBootId(): Promise<void> {
    const { dataDir, accountId } = this.#options;
    const [now, before] = [await readBootId(), randomUUID()];
    const commands = join(dataDir, "accounts", String(accountId), "commands");
    const names = /(\/|^)(taken|status\.json)$/;
    const inCommands = list(commands).filter((path) => names.test(path));
    for (const path of [...inCommands.map((each) => join(commands, each)), join(dataDir, "node-lease")]) {
      try {
        writeFileSync(path, readFileSync(path, "utf8").replaceAll(now, before));
      } catch {
        // It was never written.
      }
    }
  }
}

/** 0: none. */
export function commandIn(commandLine: string): number {
  return Number(/\/commands\/(\d+)\/attempts\//.exec(commandLine)?.[1] ?? 0);
}

export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    return []; // nothing ran here yet
  }
}

function withDescendants(roots: ReadonlySet<number>, links: readonly ProcessLinks[]): Set<number> {
  const found = new Set(roots);
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const { pid, parentPid } of links) if (found.has(parentPid)) found.add(pid);
  }
  return found;
}
