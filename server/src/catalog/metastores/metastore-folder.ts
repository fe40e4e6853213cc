import { randomBytes, randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ProcessFolders } from "../../engines/supervisor/process-folders.ts";
import { writePrivateFile } from "../../lib/private-file.ts";

/** What is told of a process to the next Headgate. */
export interface MetastoreRecord {
  readonly version: 1;
  /** Of all that it was made of. */
  readonly digest: string;
}

const PREFIX = "process-";

export function metastoreFolders(dataDir: string): ProcessFolders<MetastoreRecord> {
  return new ProcessFolders(join(dataDir, "accounts"), "metastore", { recordName: "metastore.json", prefix: PREFIX });
}

export function newProcessName(): string {
  return PREFIX + randomBytes(4).toString("hex");
}

/** The port that the account's Sparks on this node were told. Undefined: none was told one. */
export async function readKeptPort(dataDir: string, accountId: number): Promise<number | undefined> {
  const port = Number(await readFile(portFile(dataDir, accountId), "utf8").catch(() => ""));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** Once a process of the account has its folder there. */
export function keepPort(dataDir: string, accountId: number, port: number): void {
  writePrivateFile(portFile(dataDir, accountId), String(port));
}

function portFile(dataDir: string, accountId: number): string {
  return metastoreFolders(dataDir).pathOf(accountId, "port");
}

/** Below the range that the kernel takes outgoing connections from: after a restart it is free again, most likely. */
export function somePort(): number {
  return randomInt(20_000, 32_768);
}
