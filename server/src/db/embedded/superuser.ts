import { Client } from "pg";
import type { Secret } from "../../lib/secret.ts";
import { errorCode } from "../store-fault.ts";
import type { Endpoint } from "./postgres-settings.ts";
import { appRole, superuser } from "./role-passwords.ts";

type ProbeAnswer =
  | { readonly kind: "ready"; readonly fingerprint: string | null }
  | { readonly kind: "not-yet"; readonly cause: unknown }
  | { readonly kind: "refused"; readonly cause: unknown };

const PROBE_LIMIT_MS = 5_000;
const GRANT_LIMIT_MS = 10_000;
/** 28…: the password or the access rules refuse the login; a retry will not help. */
const INVALID_AUTHORIZATION = /^28/;

/** Whether the server accepts connections, and with which settings it was started. */
export async function probe(endpoint: Endpoint, password: Secret): Promise<ProbeAnswer> {
  const client = superuserClient(endpoint, password, PROBE_LIMIT_MS);
  try {
    await client.connect();
    const { rows } = await client.query<{ fingerprint: string | null }>(
      "SELECT current_setting('headgate.fingerprint', true) AS fingerprint",
    );
    return { kind: "ready", fingerprint: rows[0]?.fingerprint ?? null };
  } catch (cause) {
    return { kind: INVALID_AUTHORIZATION.test(errorCode(cause)) ? "refused" : "not-yet", cause };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Allows the app's role to use the connections that `reserved_connections` denies to others. Runs at every start,
 * because a data directory may be older than this grant.
 */
export async function grantReservedConnections(endpoint: Endpoint, password: Secret): Promise<void> {
  const client = superuserClient(endpoint, password, GRANT_LIMIT_MS);
  try {
    await client.connect();
    await client.query(`grant pg_use_reserved_connections to ${appRole}`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Connects over the socket as the superuser, who gets a connection even if the app has used up its own. The password
 * authenticates both sides: another program in the server's place does not know its half of the SCRAM exchange.
 */
function superuserClient({ socketDir, port }: Endpoint, password: Secret, limitMs: number): Client {
  const client = new Client({
    host: socketDir,
    port,
    user: superuser,
    database: "postgres",
    password: password.reveal(),
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
  });
  // A connection that is lost between two calls is reported here; the next call fails by itself.
  client.on("error", () => undefined);
  return client;
}
