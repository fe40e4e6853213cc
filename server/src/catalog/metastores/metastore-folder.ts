import { randomBytes, randomInt } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { listFolder } from "../../lib/list-folder.ts";
import { writePrivateFile } from "../../lib/private-file.ts";

/** What is told of a process to the next Headgate. */
export interface MetastoreRecord {
  readonly version: 1;
  /** Of all that it was made of. */
  readonly digest: string;
}

const RECORD = "metastore.json";
const PORT = "port";

/** The files of one account's metastore on this node; those of a process are in a folder of their own. */
export class MetastoreFolder {
  readonly #path: string;

  constructor(dataDir: string, accountId: number) {
    this.#path = join(dataDir, "accounts", String(accountId), "metastore");
  }

  /** Accounts that have one here. */
  static async accounts(dataDir: string): Promise<number[]> {
    const names = await listFolder(join(dataDir, "accounts"));
    return names.map(Number).filter((id) => Number.isSafeInteger(id) && id > 0);
  }

  /** Undefined: no Spark was ever told one. */
  async keptPort(): Promise<number | undefined> {
    const port = Number(await readFile(join(this.#path, PORT), "utf8").catch(() => ""));
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
  }

  keepPort(port: number): void {
    mkdirSync(this.#path, { recursive: true, mode: 0o711 });
    writePrivateFile(join(this.#path, PORT), String(port));
  }

  /** Folders of processes, of those that are gone too. */
  async processes(): Promise<string[]> {
    const names = await listFolder(this.#path);
    return names.filter((name) => name.startsWith("process-")).map((name) => join(this.#path, name));
  }

  makeProcess(record: MetastoreRecord): string {
    const folder = join(this.#path, `process-${randomBytes(4).toString("hex")}`);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    writePrivateFile(join(folder, RECORD), JSON.stringify(record));
    return folder;
  }
}

/** Undefined: it was left before it was whole. */
export async function readRecord(folder: string): Promise<MetastoreRecord | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, RECORD), "utf8")) as MetastoreRecord; // written above
  } catch {
    return undefined;
  }
}

/** Below the range that the kernel takes outgoing connections from: after a restart it is free again, most likely. */
export function somePort(): number {
  return randomInt(20_000, 32_768);
}
