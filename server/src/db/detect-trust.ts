/**
 * Detects a PostgreSQL that lets a user in without a password (`trust` in its pg_hba.conf). Users' programs can connect
 * from the same addresses as Headgate, so there each of them can log in as any user.
 */
import type { Client, ClientConfig } from "pg";

export interface WatchedLogin {
  readonly config: ClientConfig;
  /** Call it after the login: whether the server has asked for the password. */
  readonly isAsked: () => boolean;
}

export function watchLogin(config: ClientConfig, password: string): WatchedLogin {
  let asked = false;
  const reveal = (): string => {
    asked = true;
    return password;
  };
  return { config: { ...config, password: reveal }, isAsked: () => asked };
}

/** Completes "PostgreSQL at …": what is wrong and what to do. `client` is the connection that needed no password. */
export async function trustProblem(client: Client): Promise<string> {
  const { rows } = await client.query<{ address: string | null; owner: string }>(
    "select host(inet_client_addr()) as address, quote_ident(current_user) as owner",
  );
  const { address, owner } = rows[0] ?? { address: null, owner: "" };
  const block = address === null ? "samehost" : `${address}/${address.includes(":") ? 128 : 32}`;
  return (
    `lets the user ${owner} in without a password (trust in its pg_hba.conf), so every program on this machine could log ` +
    `in as any user. Write the line "host all all ${block} scram-sha-256" above all others for this address in its ` +
    "pg_hba.conf, give the user of DATABASE_URL a password, and run select pg_reload_conf();"
  );
}
