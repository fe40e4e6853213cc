import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { ConnectServer } from "../../engines/connect-server/connect-server.ts";
import { ProcessFolders } from "../../processes/supervisor/process-folders.ts";
import type { SparkScope } from "../execution/spark-scope.ts";

/** The record in the folder of a server, for the next Headgate. */
export interface ServerRecord {
  readonly version: 1;
  /** Its scope, under the name that released versions have stored. */
  readonly place: SparkScope;
  /** The digest of the contributions that it was started with. */
  readonly digest: string;
  readonly memoryMiB: number;
  /** The generation of the app; absent: 0. */
  readonly generation?: number;
}

const REMOTE = "remote-";

export function serverFolders(dataDir: string): ProcessFolders<ServerRecord> {
  return new ProcessFolders(join(dataDir, "accounts"), "spark", { recordName: "place.json" });
}

/** Ends the warm servers of an account or of all. Returns how many ran. */
export async function endServers(dataDir: string, accountId?: number): Promise<number> {
  return serverFolders(dataDir).end((path) => new ConnectServer(path), accountId);
}

/** The name of a server to be started, and of its folder. */
export function newServerName({ clusterId, appId }: SparkScope, digest: string): string {
  return `${clusterId}-${appId ?? 0}-${digest}-${randomBytes(3).toString("hex")}`;
}

/** The name of a remote server: the same each time. */
export function remoteServerName({ clusterId, appId }: SparkScope, digest: string): string {
  return `${REMOTE}${clusterId}-${appId ?? 0}-${digest}`;
}

export function isRemoteServerName(name: string): boolean {
  return name.startsWith(REMOTE);
}
