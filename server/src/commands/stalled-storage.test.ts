import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";
import { givenQuery, textRows } from "../../test/support/queried-rows.ts";

/** A store that does not answer before `answer` is called. */
const stalled: ServerResponse[] = [];
let isStalled = true;
const store = createServer((request, response) => {
  request.resume();
  if (isStalled) stalled.push(response);
  else response.end();
});
const answer = (): void => {
  isStalled = false;
  for (const response of stalled) response.end();
};
beforeAll(async () => once(store.listen(0, "127.0.0.1"), "listening"));
afterAll(() => {
  answer();
  store.close();
});

const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0" } });

test("requests that wait for a storage that does not answer do not delay others of the account", async () => {
  const account = await given.account();
  const { port } = store.address() as AddressInfo; // a TCP server that listens has one
  const { id } = await givenQuery(given, account, textRows(["a"]));
  await account.put("/api/v2/accounts", {
    account: {
      defloc: "s3://bucket/x",
      storage_endpoint: `http://127.0.0.1:${port}`,
      storage_access_key: "A",
      storage_secret_key: "S",
    },
  });
  const arrival = once(store, "request");
  // More than the handler slots of a user, and as many as may wait for an upload.
  const waiting = Array.from({ length: 25 }, () => account.get(`/commands/${id}/results?inline=false`).reply());
  await arrival;
  for (let more = 0; more < 10; more += 1) expect(await account.get("/account")).toHaveProperty("id");
  answer();
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
});
