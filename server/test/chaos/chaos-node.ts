import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import { setTimeout as delay } from "node:timers/promises";
import { fileNames } from "../../src/processes/runner/protocol.ts";
import { readBootId } from "../../src/lib/process-table.ts";
import { startNode, type NodeProcess } from "../support/node-process.ts";
import { findAllBelow, kill, listLiveRuns, listRuns, type LiveRun, type RunOnDisk } from "./processes.ts";

export interface ChaosNodeOptions {
  readonly dataDir: string;
  readonly connection: ClientConfig;
  readonly settings: Record<string, string>;
  readonly accountId: number;
  /** The file that the drivers of all nodes write to. */
  readonly journal: string;
}

const START_PATIENCE_MS = 120_000;

/** A node that can be killed and started again; its programs continue meanwhile. */
export class ChaosNode {
  readonly #options: ChaosNodeOptions;
  #process: NodeProcess | undefined;

  constructor(options: ChaosNodeOptions) {
    this.#options = options;
    const storage = join(options.dataDir, "accounts", String(options.accountId), "storage");
    mkdirSync(storage, { recursive: true, mode: 0o711 });
    // A link to the journal, at a path that the node's sandbox shows.
    linkSync(options.journal, join(storage, "journal"));
  }

  /** Undefined: the node is down. */
  get url(): string | undefined {
    return this.#process?.url;
  }

  /** The id of the node in the database. */
  get id(): string {
    return readFileSync(join(this.#options.dataDir, "node-id"), "utf8").trim();
  }

  /** The lease file that the runners of the node read. */
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
        // A fault may keep the database away for a while.
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

  /** Stops the node as an operator would. */
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

  /** Includes runs that have ended. */
  runsOnDisk(): RunOnDisk[] {
    return listRuns(this.#options.dataDir);
  }

  /**
   * Simulates a power failure: kills all processes of the node and changes the boot id in their files, so that the next
   * start takes none of them for a process of the current boot. Returns the runs that it killed.
   */
  async loseMachine(): Promise<RunOnDisk[]> {
    const { dataDir } = this.#options;
    await this.crash();
    const lost = new Map<string, RunOnDisk>();
    for (;;) {
      const left = await findAllBelow([join(dataDir, "accounts")], [dataDir]);
      if (left.length === 0) break;
      for (const { pid } of left) kill(pid, "SIGSTOP"); // no runner may take a run after the runs have been listed
      for (const run of await this.runs()) lost.set(run.folder, run);
      for (const { pid } of left) kill(pid);
      await delay(20);
    }
    await this.#replaceBootId();
    return [...lost.values()];
  }

  /** Makes the files of the node look as if an earlier boot of the machine had written them. */
  async #replaceBootId(): Promise<void> {
    const { dataDir } = this.#options;
    const [current, earlier] = [await readBootId(), randomUUID()];
    const runFiles = listRuns(dataDir).flatMap(({ folder }) =>
      [fileNames.taken, fileNames.status].map((name) => join(folder, name)),
    );
    for (const path of [...runFiles, this.leaseFile]) {
      try {
        writeFileSync(path, readFileSync(path, "utf8").replaceAll(current, earlier));
      } catch {
        // The file was never written.
      }
    }
  }
}
