import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { cloneDatabase } from "../../test/support/test-database.ts";
import { Secret } from "../lib/secret.ts";
import { checkDatabaseUrl } from "./check-database-url.ts";

const PASSWORD = "hush";

async function refusal(url: string): Promise<string> {
  const error = await checkDatabaseUrl(new Secret(url)).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: "Fault" });
  const { message } = error as Error;
  expect(message).toMatch(/^DATABASE_URL/);
  expect(message).not.toContain(PASSWORD);
  return message;
}

test("an unreachable DATABASE_URL is reported with its address and what to do, without the password", async () => {
  const stranger = createServer((socket) => socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await once(stranger.listen(0, "127.0.0.1"), "listening");
  const { port } = stranger.address() as AddressInfo; // it listens on TCP
  expect(await refusal(`postgres://ada:${PASSWORD}@127.0.0.1:${port}/data`)).toMatch(
    `user ada, database data at 127.0.0.1:${port}: the connection was closed`,
  );
  stranger.close();
  await once(stranger, "close");
  expect(await refusal(`postgres://ada:${PASSWORD}@127.0.0.1:${port}/data`)).toMatch(/nothing listens there/);
  expect(await refusal(`postgres://ada:${PASSWORD}@nowhere.invalid/data`)).toMatch(/the host name/);
});

test.each([`postgres://ada:${PASSWORD}@127.0.0.1:99999/data`, `postgres://ada:${PASSWORD}#x@127.0.0.1/data`])(
  "an invalid DATABASE_URL is reported (case %#)",
  async (url) => {
    expect(await refusal(url)).toMatch(/not a valid URL/);
  },
);

test("a wrong password and a missing database are reported differently", async () => {
  const database = await cloneDatabase();
  const { connection } = database;
  const url = (password: string, database: string): string =>
    `postgres://${connection.user}:${password}@127.0.0.1:${connection.port}/${database}`;
  try {
    expect(await refusal(url(PASSWORD, connection.database))).toMatch(/the password is wrong/);
    expect(await refusal(url(connection.password, "nothing_here"))).toMatch(/there is no such database/);
    await expect(checkDatabaseUrl(new Secret(url(connection.password, connection.database)))).resolves.toBeDefined();
  } finally {
    await database.drop();
  }
});

test("the password may be in the user's password file, and other parameters of the URL count", async () => {
  const database = await cloneDatabase();
  const { user, password, port, database: name } = database.connection;
  const url = `postgres://${user}@127.0.0.1:${port}/${name}`;
  const file = join(tmpdir(), `pgpass-${crypto.randomUUID()}`);
  vi.stubEnv("PGPASSFILE", file);
  const warnings: string[] = [];
  try {
    await refusal(url);
    writeFileSync(file, `127.0.0.1:${port}:${name}:${user}:${password}\n`, { mode: 0o600 });
    await checkDatabaseUrl(new Secret(url), (text) => warnings.push(text));
    expect(warnings).toEqual([]);
    for (const given of [url, url.replace("@", `:${password}@`)])
      expect(await refusal(`${given}?options=-c%20no_such_setting%3D1`)).toMatch(/no_such_setting/);
  } finally {
    vi.unstubAllEnvs();
    rmSync(file, { force: true });
    await database.drop();
  }
});
