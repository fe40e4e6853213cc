import { Client, type ClientConfig } from "pg";
import { Fault } from "../lib/fault.ts";
import type { Secret } from "../lib/secret.ts";
import { trustProblem, watchLogin } from "./detect-trust.ts";

const CONNECT_LIMIT_MS = 10_000;

const NO_ANSWER = "no PostgreSQL responds there: check the address and the firewalls in between";
const CLOSED = "the connection was closed: correct the address, or allow this machine to connect";

/** Advice for the operator if the server refuses the connection, by SQLSTATE or error code. */
const ADVICE: Readonly<Record<string, string | undefined>> = {
  ECONNREFUSED: "nothing listens there: start PostgreSQL, or correct the address",
  ENOTFOUND: "the host name does not exist: correct the address",
  EAI_AGAIN: "the host name cannot be resolved now: check the network and the DNS server",
  ECONNRESET: CLOSED,
  "28P01": "the password is wrong",
  "28000": "its pg_hba.conf does not allow this user to connect from this machine",
  "3D000": "there is no such database: create it, owned by this user",
  "53300": "all its connections are in use: raise max_connections there",
  "57P03": "it is starting or stopping: try again in a moment",
};

/**
 * Checks that DATABASE_URL leads to a PostgreSQL that accepts us. Otherwise throws with the address and what to do,
 * without secrets. Warns if it asks for no password over TCP, because catalogs of tables will be refused there.
 */
export async function checkDatabaseUrl(
  databaseUrl: Secret,
  warn: (text: string) => void = () => undefined,
): Promise<ClientConfig> {
  const connection: ClientConfig = { connectionString: databaseUrl.reveal() };
  const client = clientOf(connection);
  const { host, port, user, database } = client;
  const isAsked = watchClient(client);
  client.on("error", () => undefined); // a lost connection fails the next statement
  try {
    await client.connect();
    if (!isAsked() && !host.startsWith("/"))
      warn(`DATABASE_URL: PostgreSQL at ${host}:${port} ${await trustProblem(client)}`);
    return connection;
  } catch (cause) {
    throw new Fault(
      "unavailable",
      `DATABASE_URL: user ${user ?? ""}, database ${database ?? ""} at ${host}:${port}: ${adviceFor(cause)}.`,
      { cause },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Returns whether the server has asked for the password. Without one in the URL, the driver looks into ~/.pgpass then. */
function watchClient(client: Client): () => boolean {
  if (typeof client.password !== "string") return () => typeof client.password === "string";
  const { config, isAsked } = watchLogin({}, client.password);
  // The driver would prefer the password of the URL to that of another setting.
  Object.assign(client, config);
  return isAsked;
}

function clientOf(connection: ClientConfig): Client {
  try {
    return new Client({ ...connection, connectionTimeoutMillis: CONNECT_LIMIT_MS });
  } catch {
    // Without the cause, because it contains the URL with the password.
    throw new Fault(
      "invalid",
      "DATABASE_URL is not a valid URL: use postgres://user:password@host:port/database, with special characters of " +
        "the password written as %XX",
    );
  }
}

/** One line, without secrets. */
export function adviceFor(cause: unknown): string {
  if (!(cause instanceof Error)) return NO_ANSWER;
  const known = "code" in cause ? ADVICE[String(cause.code)] : undefined;
  if (known !== undefined) return known;
  if (/terminated unexpectedly/.test(cause.message)) return CLOSED;
  return /timeout/i.test(cause.message) ? NO_ANSWER : cause.message;
}
