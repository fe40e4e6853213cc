/**
 * `<data>/running-server.json` tells the commands of the operator about the server of this data directory: they run in
 * another environment and cannot ask it without a token. The file is private, contains no secrets, and counts only
 * while the process that wrote it holds the lock of the data directory.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config.ts";
import { settingTexts, type SettingText } from "./config/setting-texts.ts";
import { findDataDirHolder } from "./db/embedded/data-dir-lock.ts";
import { writePrivateFile } from "./lib/private-file.ts";

export interface RunningServer {
  readonly pid: number;
  /** The URL at which clients on this machine reach it. */
  readonly url: string;
  readonly settings: readonly SettingText[];
}

const fileOf = (dataDir: string): string => join(dataDir, "running-server.json");

/** Called under the lock of the data directory. */
export function writeRunningServer(config: Config, url: string): void {
  const server: RunningServer = { pid: process.pid, url, settings: settingTexts({ ...config }) };
  writePrivateFile(fileOf(config.dataDir), `${JSON.stringify(server, null, 2)}\n`);
}

/** Called under the lock of the data directory. */
export function removeRunningServer(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true });
}

/** Undefined if no server runs, or if it is not ready yet. `holder`: the pid that holds the lock of the data directory. */
export function findRunningServer(dataDir: string, holder = findDataDirHolder(dataDir)): RunningServer | undefined {
  if (holder === undefined) return undefined;
  try {
    const server = JSON.parse(readFileSync(fileOf(dataDir), "utf8")) as RunningServer; // only `writeRunningServer` writes it
    return String(server.pid) === holder ? server : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
