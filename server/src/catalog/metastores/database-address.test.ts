import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { databaseAddress, jdbcUrl } from "./database-address.ts";

const PLAIN = "sslmode=disable&requireAuth=scram-sha-256&authenticationPluginClassName=headgate.metastore.ScramOnly";
const COMMON =
  "ApplicationName=headgate-metastore&tcpKeepAlive=true&options=-c+default_transaction_isolation%3Dread%5C+committed";

function urlFor(connectionString: string): string {
  return jdbcUrl(databaseAddress({ connectionString }, false), "a_metastore_1", "/ca.pem");
}

test("the embedded PostgreSQL is reached over loopback, although we use its socket", () => {
  const address = databaseAddress({ host: "/data/postgres/run", port: 20_001, user: "headgate" }, true);
  expect(jdbcUrl(address, "headgate_metastore_1", "")).toBe(
    `jdbc:postgresql://127.0.0.1:20001/headgate_metastore_1?${PLAIN}&${COMMON}`,
  );
});

test("an external PostgreSQL is reached at the address of DATABASE_URL, in any of its forms", () => {
  expect(urlFor("postgres://ada:hush@db.example.com/a")).toBe(
    `jdbc:postgresql://db.example.com:5432/a_metastore_1?${PLAIN}&${COMMON}`,
  );
  expect(urlFor("postgres://ada:hush@[::1]:6000/a")).toContain("//[::1]:6000/");
  expect(urlFor("postgres:///a?host=db.example.com&port=6001&user=ada")).toContain("//db.example.com:6001/");
});

test("no address contains a password", () => {
  expect(urlFor("postgres://ada:hush@db.example.com/a")).not.toMatch(/hush|ada/);
});

test("the server is trusted exactly as far as DATABASE_URL trusts it", () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-ca-"));
  try {
    const ca = join(folder, "ca.pem");
    writeFileSync(ca, "an authority");
    const java = "sslfactory=org.postgresql.ssl.DefaultJavaSSLFactory";
    expect(urlFor("postgres://a@h/a?sslmode=verify-full")).toContain(`sslmode=verify-full&${java}`);
    expect(urlFor("postgres://a@h/a?ssl=true")).toContain(`sslmode=verify-full&${java}`);
    expect(urlFor("postgres://a@h/a?sslmode=no-verify")).toContain("sslmode=require&");
    expect(urlFor(`postgres://a@h/a?sslmode=verify-full&sslrootcert=${ca}`)).toContain(
      "sslmode=verify-full&sslrootcert=%2Fca.pem",
    );
    expect(urlFor(`postgres://a@h/a?sslmode=verify-ca&uselibpqcompat=true&sslrootcert=${ca}`)).toContain(
      "sslmode=verify-ca&sslrootcert=%2Fca.pem",
    );
    expect(databaseAddress({ connectionString: `postgres://a@h/a?sslrootcert=${ca}` }, false).ssl).toMatchObject({
      ca: "an authority",
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each(["postgres:///a?host=/var/run/postgresql", "postgres://%2Fvar%2Frun%2Fpostgresql/a", "socket:/run/pg?db=a"])(
  "a PostgreSQL that is reached by a Unix socket is refused, because Java supports only TCP (%s)",
  (url) => {
    expect(() => urlFor(url)).toThrow(/DATABASE_URL names a Unix socket: write it as postgres:/);
  },
);
