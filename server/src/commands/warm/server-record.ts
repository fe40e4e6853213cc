import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../../lib/private-file.ts";
import type { SparkPlace } from "./spark-place.ts";

/** What is told of a server to the next Headgate, in its folder. */
export interface ServerRecord {
  readonly version: 1;
  readonly place: SparkPlace;
  /** Of the contributions that shaped it. */
  readonly digest: string;
  readonly memoryMiB: number;
  /** The generation of the app; absent: 0. */
  readonly generation?: number;
}

const FILE = "place.json";
const REMOTE = "remote-";

/** Of one to be started; also that of its folder. */
export function newServerName({ clusterId, appId }: SparkPlace, digest: string): string {
  return `${clusterId}-${appId ?? 0}-${digest}-${randomBytes(3).toString("hex")}`;
}

/** Of somebody else's, the same each time. */
export function remoteServerName({ clusterId, appId }: SparkPlace, digest: string): string {
  return `${REMOTE}${clusterId}-${appId ?? 0}-${digest}`;
}

export function isRemoteServerName(name: string): boolean {
  return name.startsWith(REMOTE);
}

/** Makes its folder. */
export function writeServerRecord(folder: string, record: ServerRecord): void {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  writePrivateFile(join(folder, FILE), JSON.stringify(record));
}

/** Undefined: it was left before it was whole. */
export async function readServerRecord(folder: string): Promise<ServerRecord | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, FILE), "utf8")) as ServerRecord; // written above
  } catch {
    return undefined;
  }
}
