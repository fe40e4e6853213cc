import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
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
