import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { parsePostmasterPid, type PostmasterPid } from "./postmaster-pid.ts";
import type { ProcessFacts } from "../../lib/process-table.ts";
import type { UnprivilegedUser } from "./unprivileged-user.ts";

/** Where everything of the embedded server lies, and as whom it runs. */
export interface Cluster {
  /** `<dataDir>/postgres`: ours, the server only passes through. */
  readonly folder: string;
  /** The server's own files; they belong to the user it runs as. */
  readonly data: string;
  readonly secrets: string;
  readonly settingsFile: string;
  readonly hostAccessFile: string;
  readonly logFile: string;
  /** The roster of the processes that need the server (`engines/runner/roster.ts`). */
  readonly roster: string;
  /** In the title of every process of this cluster, so that those left behind can be told from others. */
  readonly name: string;
  /** Undefined: as we are. */
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
    // To go on would leave files of two owners, which neither can start from.
    throw new Fault("invalid", `${cluster.folder} belongs to the user with uid ${uid}: start Headgate as that user`);
  }
  if (cluster.user !== undefined) await chmod(cluster.folder, 0o711);
}

export async function readPostmasterPid(cluster: Cluster): Promise<PostmasterPid | undefined> {
  const text = await readFile(join(cluster.data, "postmaster.pid"), "utf8").catch(() => "");
  return parsePostmasterPid(text);
}

/** Also a single-user one, which sets passwords and must not be started beside. */
export function isPostmaster(cluster: Cluster, facts: ProcessFacts): boolean {
  const forms = [`/postgres -D ${cluster.data} `, `/postgres --single -D ${cluster.data} `];
  return belongs(cluster, facts) && forms.some((form) => facts.commandLine.includes(form));
}

/** A backend or worker; after the postmaster's death nothing but its title ties it to the cluster. */
export function isServerChild(cluster: Cluster, facts: ProcessFacts): boolean {
  return belongs(cluster, facts) && facts.commandLine.startsWith(`postgres: ${cluster.name}: `);
}

function belongs(cluster: Cluster, facts: ProcessFacts): boolean {
  return facts.uid === (cluster.user?.uid ?? process.getuid?.());
}
