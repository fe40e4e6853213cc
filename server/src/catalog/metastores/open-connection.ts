/** Opens connections to PostgreSQL for the databases of metastores, and classifies their errors. */
import { Client, type ClientConfig } from "pg";
import { errorCode } from "../../db/store-fault.ts";

const CONNECT_LIMIT_MS = 10_000;
export const STATEMENT_LIMIT_MS = 60_000;
/** A statement can lift PostgreSQL's limit for later ones, but not the limit of our driver. */
const GRACE_MS = 5000;

/** No such role or a wrong password, a role that may not log in, or one that may not connect to the database. */
const LOGIN_REFUSED = ["28P01", "28000", "42501"];
export const NO_DATABASE = "3D000";
/** The role has reached its connection limit, which may be 0, or the server has. */
const TOO_MANY_CONNECTIONS = "53300";

export function isLoginRefused(error: unknown): boolean {
  return LOGIN_REFUSED.includes(errorCode(error));
}

export function isOutOfConnections(error: unknown): boolean {
  return errorCode(error) === TOO_MANY_CONNECTIONS;
}

export function timeouts(limitMs: number | null): Pick<ClientConfig, "statement_timeout" | "query_timeout"> {
  return limitMs === null
    ? { statement_timeout: 0 }
    : { statement_timeout: limitMs, query_timeout: limitMs + GRACE_MS };
}

export async function openClient(config: ClientConfig): Promise<Client> {
  const client = new Client(config);
  client.on("error", () => undefined); // a lost connection fails the next statement
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

/** As separate fields: the parts of a connection string could not be overridden. */
export function connectionFields(connection: ClientConfig): ClientConfig {
  const { host, port, user, password, database, ssl } = new Client(connection);
  return {
    host,
    port,
    user,
    password,
    database,
    ssl,
    application_name: "headgate-catalog",
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    statement_timeout: STATEMENT_LIMIT_MS,
  };
}
