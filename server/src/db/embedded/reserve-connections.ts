import { Client } from "pg";
import type { Secret } from "../../lib/secret.ts";
import type { Endpoint } from "./postgres-settings.ts";
import { appRole, superuser } from "./role-passwords.ts";

const LIMIT_MS = 10_000;

/**
 * Allows the app's role to use the connections that `reserved_connections` denies to others. Runs at every start,
 * because a data directory may be older than this grant.
 */
export async function grantReservedConnections(endpoint: Endpoint, password: Secret): Promise<void> {
  const client = new Client({
    host: endpoint.socketDir,
    port: endpoint.port,
    user: superuser,
    database: "postgres",
    password: password.reveal(),
    connectionTimeoutMillis: LIMIT_MS,
    query_timeout: LIMIT_MS,
  });
  client.on("error", () => undefined); // a lost connection fails the statement
  try {
    await client.connect();
    await client.query(`grant pg_use_reserved_connections to ${appRole}`);
  } finally {
    await client.end().catch(() => undefined);
  }
}
