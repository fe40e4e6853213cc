import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { ProcessFolders } from "../../processes/supervisor/process-folders.ts";
import { writePrivateFile } from "../../lib/private-file.ts";

/** Describes a running process to the next server. */
export interface MetastoreRecord {
  readonly version: 1;
  /** The digest of its configuration. */
  readonly digest: string;
}

const PREFIX = "process-";

export function metastoreFolders(dataDir: string): ProcessFolders<MetastoreRecord> {
  return new ProcessFolders(join(dataDir, "accounts"), "metastore", { recordName: "metastore.json", prefix: PREFIX });
}

export function newProcessName(): string {
  return PREFIX + randomBytes(4).toString("hex");
}

/** The port that the account's Sparks on this node use. Undefined: none has been given out yet. */
export async function readStoredPort(dataDir: string, accountId: number): Promise<number | undefined> {
  const port = Number(await readFile(portFile(dataDir, accountId), "utf8").catch(() => ""));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** The folder of one of the account's processes must exist. */
export function storePort(dataDir: string, accountId: number, port: number): void {
  writePrivateFile(portFile(dataDir, accountId), String(port));
}

export function forgetPort(dataDir: string, accountId: number): void {
  rmSync(portFile(dataDir, accountId), { force: true });
}

function portFile(dataDir: string, accountId: number): string {
  return metastoreFolders(dataDir).pathOf(accountId, "port");
}

/** Below the kernel's range for outgoing connections, so that it is most likely still free after a restart. */
export function randomPort(): number {
  return randomInt(20_000, 32_768);
}

export async function isPortFree(port: number): Promise<boolean> {
  const listener = createServer();
  try {
    await once(listener.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  await once(listener.close(), "close");
  return true;
}
