import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import type { ProcessFacts } from "../../lib/process-table.ts";
import type { UnprivilegedUser } from "./unprivileged-user.ts";

/** The paths of the embedded server, and the user it runs as. */
export interface Cluster {
  /** `<dataDir>/postgres`. Owned by Headgate; the server's user can only traverse it. */
  readonly folder: string;
  /** The server's own files, owned by the user it runs as. */
  readonly data: string;
  readonly secrets: string;
  readonly settingsFile: string;
  readonly hostAccessFile: string;
  readonly logFile: string;
  /** The roster of the processes that need the server (`processes/runner/roster.ts`). */
  readonly roster: string;
  /** Part of the title of every process of this cluster, so that leftover ones can be recognised. */
  readonly name: string;
  /** Undefined: the user of this process. */
  readonly user: UnprivilegedUser | undefined;
}

function clusterFolder(dataDir: string): string {
  return join(dataDir, "postgres");
}

export function postgresRoster(dataDir: string): string {
  return join(clusterFolder(dataDir), "users");
}

export function describeCluster(dataDir: string, user: UnprivilegedUser | undefined): Cluster {
  const folder = clusterFolder(dataDir);
  const data = join(folder, "data");
  const name = `headgate-${createHash("sha256").update(data).digest("hex").slice(0, 12)}`;
  return {
    folder,
    data,
    secrets: join(folder, "secrets"),
    settingsFile: join(folder, "postgresql.conf"),
    hostAccessFile: join(folder, "pg_hba.conf"),
    logFile: join(folder, "server.log"),
    roster: postgresRoster(dataDir),
    name,
    user,
  };
}

export async function makeClusterFolder(cluster: Cluster): Promise<void> {
  await mkdir(cluster.folder, { recursive: true, mode: 0o700 });
  const { uid } = await stat(cluster.folder);
  if (uid !== process.getuid?.()) {
    // Continuing would leave files of two owners, and neither could start the server.
    throw new Fault("invalid", `${cluster.folder} belongs to the user with uid ${uid}: start Headgate as that user`);
  }
  if (cluster.user !== undefined) await chmod(cluster.folder, 0o711);
}

export async function readPostmasterPid(cluster: Cluster): Promise<PostmasterPid | undefined> {
  const text = await readFile(join(cluster.data, "postmaster.pid"), "utf8").catch(() => "");
  return parsePostmasterPid(text);
}

/** Includes a single-user server, which sets passwords; no other server may run at the same time. */
export function isPostmaster(cluster: Cluster, facts: ProcessFacts): boolean {
  const forms = [`/postgres -D ${cluster.data} `, `/postgres --single -D ${cluster.data} `];
  return belongs(cluster, facts) && forms.some((form) => facts.commandLine.includes(form));
}

/** A backend or worker. After the postmaster's death only its title shows that it belongs to the cluster. */
export function isServerChild(cluster: Cluster, facts: ProcessFacts): boolean {
  return belongs(cluster, facts) && facts.commandLine.startsWith(`postgres: ${cluster.name}: `);
}

function belongs(cluster: Cluster, facts: ProcessFacts): boolean {
  return facts.uid === (cluster.user?.uid ?? process.getuid?.());
}

/**
 * `postmaster.pid`, which a running server has in its data directory and a killed one leaves there. One line each: pid,
 * data directory, start time, port, socket folder, listen address, shared memory key and id, status. The server writes
 * it in steps, so later lines may be missing.
 */
interface PostmasterPid {
  readonly pid: number;
  readonly dataDirectory: string;
  readonly port: number | undefined;
  readonly socketDir: string | undefined;
  readonly status: PostmasterStatus | undefined;
}

type PostmasterStatus = "starting" | "stopping" | "ready" | "standby";

const statuses: readonly PostmasterStatus[] = ["starting", "stopping", "ready", "standby"];

export function parsePostmasterPid(text: string): PostmasterPid | undefined {
  const [pidLine, dataDirectory, , portLine, socketDir, , , statusLine] = text.split("\n").map((line) => line.trim());
  // A negative pid belongs to a single-user server, which accepts no connections.
  const pid = Math.abs(Number(pidLine));
  if (pidLine === "" || !Number.isSafeInteger(pid) || pid === 0) return undefined;
  const port = Number(portLine);
  return {
    pid,
    dataDirectory: dataDirectory ?? "",
    port: Number.isInteger(port) && port > 0 ? port : undefined,
    socketDir: socketDir === "" ? undefined : socketDir,
    status: statuses.find((status) => status === statusLine),
  };
}
