import { Client } from "pg";
import type { Secret } from "../../lib/secret.ts";
import { errorCode } from "../error-code.ts";
import type { Endpoint } from "./postgres-settings.ts";
import { superuser } from "./role-passwords.ts";

export type ProbeAnswer =
  | { readonly kind: "ready"; readonly fingerprint: string | null }
  | { readonly kind: "not-yet"; readonly cause: unknown }
  | { readonly kind: "refused"; readonly cause: unknown };

/** 28…: the password or the access rules refuse the login; a retry will not help. */
const invalidAuthorization = /^28/;

/**
 * Connects over the socket as the superuser, who gets a connection even if the app has used up its own. The password
 * authenticates both sides: another program in the server's place does not know its half of the SCRAM exchange.
 */
export async function probe(endpoint: Endpoint, password: Secret): Promise<ProbeAnswer> {
  const client = new Client({
    host: endpoint.socketDir,
    port: endpoint.port,
    user: superuser,
    database: "postgres",
    password: password.reveal(),
    connectionTimeoutMillis: 5000,
    query_timeout: 5000,
  });
  // A connection that is lost between two calls is reported here; the next call fails by itself.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ fingerprint: string | null }>(
      "SELECT current_setting('headgate.fingerprint', true) AS fingerprint",
    );
    return { kind: "ready", fingerprint: rows[0]?.fingerprint ?? null };
  } catch (cause) {
    return { kind: invalidAuthorization.test(errorCode(cause)) ? "refused" : "not-yet", cause };
  } finally {
    await client.end().catch(() => undefined);
  }
}
