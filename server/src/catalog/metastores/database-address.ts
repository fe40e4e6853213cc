import type { ConnectionOptions } from "node:tls";
import { Client, type ClientConfig } from "pg";
import { Fault } from "../../lib/fault.ts";

/** Where a JVM finds the product's PostgreSQL: it knows TCP only. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly ssl: false | ConnectionOptions;
}

/** The embedded server listens on the loopback besides its socket. */
export function databaseAddress(connection: ClientConfig, isEmbedded: boolean): DatabaseAddress {
  // The driver's own reading of every form that DATABASE_URL can have; it connects to nothing yet.
  const { host, port, ssl } = new Client(connection);
  if (isEmbedded) return { host: "127.0.0.1", port, ssl: false };
  if (host.startsWith("/")) {
    throw new Fault(
      "invalid",
      "The catalog of tables needs a PostgreSQL that Java can reach, and DATABASE_URL names a Unix socket: " +
        "write it as postgres://user:password@host:port/database.",
    );
  }
  // Typed as a flag only; it holds the options of the connection, those of sslrootcert and sslmode included.
  const options = ssl as boolean | ConnectionOptions;
  return { host, port, ssl: options === true ? {} : options };
}

/** The metastore counts on it, whatever the server, the database or the role has for others. */
const SESSION = String.raw`-c default_transaction_isolation=read\ committed`;

/** As the Node driver would connect: with the same trust in the server, and no more. `caFile` holds what `ssl.ca` says. */
export function jdbcUrl({ host, port, ssl }: DatabaseAddress, database: string, caFile: string): string {
  const parameters = new URLSearchParams({
    ...tlsParameters(ssl, caFile),
    ApplicationName: "headgate-metastore",
    tcpKeepAlive: "true",
    options: SESSION,
  });
  const name = host.includes(":") ? `[${host}]` : host;
  return `jdbc:postgresql://${name}:${port}/${encodeURIComponent(database)}?${parameters.toString()}`;
}

/**
 * Without TLS anything can listen there. The driver refuses a server that has not proven itself by SCRAM, one that lets
 * everybody in included. Our class (`jvm/metastore`) keeps the password from the other ways of asking for it, also in
 * drivers that do not know `requireAuth`.
 */
const WITHOUT_TLS = {
  sslmode: "disable",
  requireAuth: "scram-sha-256",
  authenticationPluginClassName: "headgate.metastore.ScramOnly",
};

function tlsParameters(ssl: DatabaseAddress["ssl"], caFile: string): Record<string, string> {
  if (ssl === false) return WITHOUT_TLS;
  if (ssl.rejectUnauthorized === false) return { sslmode: "require" };
  const sslmode = ssl.checkServerIdentity === undefined ? "verify-full" : "verify-ca";
  if (ssl.ca !== undefined) return { sslmode, sslrootcert: caFile };
  // Java's list of authorities, as Node has its own; by default the driver would look for a file in the home folder.
  return { sslmode, sslfactory: "org.postgresql.ssl.DefaultJavaSSLFactory" };
}
