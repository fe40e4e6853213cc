import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";
import { superuser } from "./role-passwords.ts";

export interface Endpoint {
  readonly socketDir: string;
  readonly port: number;
}

/**
 * Settings for a database next to Spark on one machine: little memory when idle (no I/O workers, no replication
 * launcher, no parallel query), and full durability. An operator's `ALTER SYSTEM` overrides them.
 */
export function planSettings(
  endpoint: Endpoint,
  cluster: Cluster,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    // The values that initdb detected on this machine, such as the kind of shared memory.
    include_if_exists: join(cluster.data, "postgresql.conf"),

    listen_addresses: "127.0.0.1",
    port: String(endpoint.port),
    unix_socket_directories: `"${endpoint.socketDir.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    password_encryption: "scram-sha-256",
    cluster_name: cluster.name,
    hba_file: cluster.hostAccessFile,

    // The app's role is not a superuser: an operator can connect even if all other connections are taken. Besides our
    // own few connections, each account's metastore has some while its Sparks run; 140 more cost 5 MB. Metastores
    // cannot take the connections that are reserved for the app's role (superuser.ts).
    max_connections: "200",
    superuser_reserved_connections: "4",
    reserved_connections: "60",

    shared_buffers: "64MB",
    huge_pages: "off",
    work_mem: "8MB",
    maintenance_work_mem: "64MB",
    io_method: "sync",
    max_worker_processes: "4",
    max_parallel_workers: "0",
    max_parallel_workers_per_gather: "0",
    max_logical_replication_workers: "0",
    autovacuum: "on",
    autovacuum_max_workers: "2",
    jit: "off",

    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    min_wal_size: "80MB",
    max_wal_size: "512MB",
    max_wal_senders: "2",

    timezone: "UTC",
    log_timezone: "UTC",
    log_line_prefix: "%m [%p] ",
    // Statement errors are sent to the client, which logs them; here their text and values would be a leak.
    log_min_messages: "log",
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    log_parameter_max_length: "0",
    log_checkpoints: "off",
    ...extra,
  };
}

export function renderSettings(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`);
  return [
    "# Headgate writes this file at each start: ALTER SYSTEM is the place for settings of your own.",
    ...lines,
    "",
  ].join("\n");
}

/**
 * All connections need a password. The superuser can connect only through the socket, which file permissions protect.
 */
export const hostAccess = `# Headgate writes this file at each start.
local all all scram-sha-256
local replication ${superuser} scram-sha-256
host all ${superuser} 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
`;

/** Passed to the server as a custom setting; a server with the same value runs as we would start it. */
export function fingerprint(binaryVersion: string, settings: Readonly<Record<string, string>>): string {
  const text = [binaryVersion, renderSettings(settings), hostAccess].join("\0");
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
