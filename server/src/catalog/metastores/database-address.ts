import type { ConnectionOptions } from "node:tls";
import { Client, type ClientConfig } from "pg";
import { Fault } from "../../lib/fault.ts";

/** The address of the product's PostgreSQL for a JVM, which supports only TCP. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly ssl: false | ConnectionOptions;
}

/** The embedded server listens on loopback in addition to its socket. */
export function databaseAddress(connection: ClientConfig, isEmbedded: boolean): DatabaseAddress {
  // The driver parses every form of DATABASE_URL; this does not connect yet.
  const { host, port, ssl } = new Client(connection);
  if (isEmbedded) return { host: "127.0.0.1", port, ssl: false };
  if (host.startsWith("/")) {
    throw new Fault(
      "invalid",
      "The catalog of tables needs a PostgreSQL that Java can reach over TCP, but DATABASE_URL names a Unix socket: " +
        "write it as postgres://user:password@host:port/database.",
    );
  }
  // Its type is boolean, but it holds the TLS options, including those of sslrootcert and sslmode.
  const options = ssl as boolean | ConnectionOptions;
  return { host, port, ssl: options === true ? {} : options };
}

/** The metastore relies on this isolation level; the server, the database or the role may have another default. */
const SESSION = String.raw`-c default_transaction_isolation=read\ committed`;

/** Trusts the server exactly as the Node driver would. `caFile` contains `ssl.ca`. */
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
 * Without TLS, another process could impersonate the server. The driver refuses a server that has not authenticated
 * itself by SCRAM, including one that requires no password. Our class (`jvm/metastore`) withholds the password from all
 * other methods, also in drivers that do not support `requireAuth`.
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
  // Java's default authorities, as Node uses its own; otherwise the driver expects a file in the home folder.
  return { sslmode, sslfactory: "org.postgresql.ssl.DefaultJavaSSLFactory" };
}
