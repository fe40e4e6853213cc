import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { listFolder } from "../../lib/list-folder.ts";
import type { Log } from "../../lib/log.ts";
import { writePrivateFile } from "../../lib/private-file.ts";

export interface ProcessFolder {
  readonly owner: number;
  readonly name: string;
  readonly path: string;
}

/** A process that is known by its folder, whether it runs or not. */
export interface LeftoverProcess {
  isAlive(): Promise<boolean>;
  /** Settles when the process has ended. Its folder is removed, or will be soon. */
  stop(): Promise<void>;
}

/**
 * The folders of the processes of one kind: `<root>/<owner>/<kind>/<name>`. A record in each folder describes the
 * process to the next server.
 */
export class ProcessFolders<Content> {
  readonly #root: string;
  readonly #kind: string;
  readonly #recordName: string;
  readonly #prefix: string;

  /** `prefix`: only folders whose names begin with it belong to processes. */
  constructor(root: string, kind: string, { recordName = "record.json", prefix = "" } = {}) {
    this.#root = root;
    this.#kind = kind;
    this.#recordName = recordName;
    this.#prefix = prefix;
  }

  pathOf(owner: number, name: string): string {
    return join(this.#root, String(owner), this.#kind, name);
  }

  /** Includes the folders of processes that have ended. */
  async list(owner?: number): Promise<ProcessFolder[]> {
    const owners = owner === undefined ? await this.#owners() : [owner];
    const found = owners.map(async (each) => {
      const names = await listFolder(this.pathOf(each, ""));
      const processes = names.filter((name) => name.startsWith(this.#prefix));
      return processes.map((name) => ({ owner: each, name, path: this.pathOf(each, name) }));
    });
    return (await Promise.all(found)).flat();
  }

  make(owner: number, name: string, record: Content): string {
    const path = this.pathOf(owner, name);
    mkdirSync(path, { recursive: true, mode: 0o711 });
    writePrivateFile(join(path, this.#recordName), JSON.stringify(record));
    return path;
  }

  /**
   * Calls `adopt` for each process that a previous server left running. The other processes, and those that `adopt`
   * refuses by returning false, are ended and their folders removed. Returns the owners of these.
   */
  async recover<Process extends LeftoverProcess>(
    open: (path: string) => Process,
    adopt: (found: ProcessFolder & { record: Content; process: Process }) => unknown,
    log: Log,
  ): Promise<Set<number>> {
    const ended = new Set<number>();
    for (const folder of await this.list()) {
      const process = open(folder.path);
      const record = await this.#readRecord(folder.path);
      const isAdoptable = record !== undefined && (await process.isAlive());
      if (isAdoptable && adopt({ ...folder, record, process }) !== false) continue;
      ended.add(folder.owner);
      await process
        .stop()
        .catch((error: unknown) =>
          log.warn({ err: error, folder: folder.path }, "a process of a previous server could not be ended"),
        );
    }
    return ended;
  }

  /**
   * Ends all processes, or those of one owner. A running server notices that they end. Returns how many were running.
   */
  async end(open: (path: string) => LeftoverProcess, owner?: number): Promise<number> {
    const ended = (await this.list(owner)).map(async ({ path }) => {
      const process = open(path);
      const wasAlive = await process.isAlive();
      await process.stop();
      return wasAlive;
    });
    return (await Promise.all(ended)).filter(Boolean).length;
  }

  async #owners(): Promise<number[]> {
    const names = await listFolder(this.#root);
    return names.map(Number).filter((owner) => Number.isSafeInteger(owner) && owner > 0);
  }

  /** Undefined: its server was killed before the record was complete. */
  async #readRecord(path: string): Promise<Content | undefined> {
    try {
      return JSON.parse(await readFile(join(path, this.#recordName), "utf8")) as Content; // written by `make`
    } catch {
      return undefined;
    }
  }
}
