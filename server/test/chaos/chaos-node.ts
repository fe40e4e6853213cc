import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import { setTimeout as delay } from "node:timers/promises";
import { fileNames } from "../../src/engines/runner/protocol.ts";
import { readBootId } from "../../src/lib/process-table.ts";
import { startNode, type NodeProcess } from "../support/node-process.ts";
import { findAllBelow, kill, listLiveRuns, listRuns, type LiveRun, type RunOnDisk } from "./processes.ts";

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

  /** As the database knows it. */
  get id(): string {
    return readFileSync(join(this.#options.dataDir, "node-id"), "utf8").trim();
  }

  /** What its runners go by. */
  get leaseFile(): string {
    return join(this.#options.dataDir, "node-lease");
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

  /** As an operator stops it. */
  async stop(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    await running?.stop();
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#process?.signal(name);
  }

  runs(): Promise<LiveRun[]> {
    return listLiveRuns(this.#options.dataDir);
  }

  /** Those that have ended, too. */
  runsOnDisk(): RunOnDisk[] {
    return listRuns(this.#options.dataDir);
  }

  /** As if the power went: nothing of the node is left running, and no process from before has a name any more. */
  async loseMachine(): Promise<RunOnDisk[]> {
    const { dataDir } = this.#options;
    await this.crash();
    const lost = new Map<string, RunOnDisk>();
    for (;;) {
      for (const run of await this.runs()) lost.set(run.folder, run);
      const left = await findAllBelow([join(dataDir, "accounts")], [dataDir]);
      if (left.length === 0) break;
      for (const { pid } of left) kill(pid);
      await delay(20);
    }
    await this.#forgetBootId();
    return [...lost.values()];
  }

  /** The files of the last boot name another id than the machine has now. */
  async #forgetBootId(): Promise<void> {
    const { dataDir } = this.#options;
    const [now, before] = [await readBootId(), randomUUID()];
    const ofRuns = listRuns(dataDir).flatMap(({ folder }) =>
      [fileNames.taken, fileNames.status].map((name) => join(folder, name)),
    );
    for (const path of [...ofRuns, this.leaseFile]) {
      try {
        writeFileSync(path, readFileSync(path, "utf8").replaceAll(now, before));
      } catch {
        // It was never written.
      }
    }
  }
}
