import { afterAll, expect, test } from "vitest";
import { startCutOffProxy, type CutOffProxy } from "./chaos/cut-off-proxy.ts";
import { useServer } from "./support/given.ts";
import { runProgram } from "./support/programs.ts";
import { stubDriver } from "./support/stub-driver.ts";

/** One-way loss: what the server sends reaches the database, but nothing comes back. */
let proxy: CutOffProxy;
const given = useServer({
  driver: stubDriver,
  async reach({ connectionTimeoutMillis: _, ...connection }) {
    const host = "127.0.0.1";
    proxy = await startCutOffProxy({ host, port: connection.port });
    return { ...connection, host, port: proxy.port };
  },
});
afterAll(() => proxy.close());

test("a network that loses the answers of the database leads to 503, and a repeated change is made once", async () => {
  const account = await given.account();
  const key = { headers: { "Idempotency-Key": "one" } };
  const submit = { command_type: "SparkCommand", language: "python", program: "echo once", name: "once" };
  await proxy.loseAnswers();
  const began = performance.now();
  const replies = await Promise.all([
    account.get("/account").reply(),
    account.post("/commands", submit, key).reply(),
    account.post("/folders", { name: "new", type: "notes" }).reply(),
  ]);
  expect(performance.now() - began).toBeLessThan(20_000); // soon, even on a busy machine
  for (const { status, headers, text } of replies) {
    expect(status, text).toBe(503);
    expect(headers.get("retry-after"), text).toBe("2");
  }
  await proxy.heal("is lost");
  await expect.poll(async () => (await account.get("/account").reply()).status, { timeout: 30_000 }).toBe(200);
  const { id } = await account.post("/commands", submit, key);
  const { commands } = await account.get("/commands?name=once");
  expect(commands.map((command: { id: number }) => command.id)).toEqual([id]);
  await runProgram(account, "echo the queue works");
});
