import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { listFolder } from "../../lib/list-folder.ts";
import type { Log } from "../../lib/log.ts";
import { writePrivateFile } from "../../lib/private-file.ts";

export interface FoldersOptions {
  /** Has a folder for each owner, named by its number. */
  readonly root: string;
  readonly kind: string;
  readonly recordName: string;
  /** What the names of processes begin with. Absent: everything in the folder is a process. */
  readonly prefix?: string;
}

export interface ProcessFolder {
  readonly owner: number;
  readonly name: string;
  readonly path: string;
}

/** A process that is known by its folder, whether it runs or not. */
export interface LeftProcess {
  isAlive(): Promise<boolean>;
  /** Settles when neither the process nor its folder is left. */
  stop(): Promise<void>;
}

/** The folders of processes of one kind, `<root>/<owner>/<kind>/<name>`, with a record for the next server in each. */
export class ProcessFolders<Content> {
  readonly #options: FoldersOptions;

  constructor(options: FoldersOptions) {
    this.#options = options;
  }

  /** Includes the folders of processes that have ended. */
  async list(owner?: number): Promise<ProcessFolder[]> {
    const owners = owner === undefined ? await this.#owners() : [owner];
    const found = owners.map(async (each) => {
      const names = await listFolder(this.#folderOf(each));
      const processes = names.filter((name) => name.startsWith(this.#options.prefix ?? ""));
      return processes.map((name) => ({ owner: each, name, path: this.pathOf(each, name) }));
    });
    return (await Promise.all(found)).flat();
  }

  pathOf(owner: number, name: string): string {
    return join(this.#folderOf(owner), name);
  }

  make(owner: number, name: string, record: Content): string {
    const path = this.pathOf(owner, name);
    mkdirSync(path, { recursive: true, mode: 0o711 });
    writePrivateFile(join(path, this.#options.recordName), JSON.stringify(record));
    return path;
  }

  /**
   * Offers the processes that an earlier server left running. Ends and removes those that `adopt` declines, that have
   * ended, or that have no complete record; returns their owners.
   */
  async recover<Process extends LeftProcess>(
    open: (path: string) => Process,
    adopt: (folder: ProcessFolder, record: Content, process: Process) => boolean,
    log: Log,
  ): Promise<Set<number>> {
    const ended = new Set<number>();
    for (const folder of await this.list()) {
      const process = open(folder.path);
      const record = await this.#readRecord(folder.path);
      if (record !== undefined && (await process.isAlive()) && adopt(folder, record, process)) continue;
      ended.add(folder.owner);
      await process.stop().catch((error: unknown) => log.warn({ err: error, folder: folder.path }, "left over"));
    }
    return ended;
  }

  /** Ends the processes of an owner; callable while a server runs, which notices their end. Returns how many ran. */
  async end(owner: number, open: (path: string) => LeftProcess): Promise<number> {
    const ended = (await this.list(owner)).map(async ({ path }) => {
      const process = open(path);
      const wasAlive = await process.isAlive();
      await process.stop();
      return wasAlive;
    });
    return (await Promise.all(ended)).filter(Boolean).length;
  }

  async #owners(): Promise<number[]> {
    const names = await listFolder(this.#options.root);
    return names.map(Number).filter((owner) => Number.isSafeInteger(owner) && owner > 0);
  }

  #folderOf(owner: number): string {
    return join(this.#options.root, String(owner), this.#options.kind);
  }

  /** Undefined: its server was killed before it was complete. */
  async #readRecord(path: string): Promise<Content | undefined> {
    try {
      return JSON.parse(await readFile(join(path, this.#options.recordName), "utf8")) as Content; // written by `make`
    } catch {
      return undefined;
    }
  }
}
