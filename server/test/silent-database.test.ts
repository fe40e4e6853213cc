/** A database that neither responds nor refuses, as when a network drops every packet. Deadlines are the real ones. */
import { expect, test } from "vitest";
import { startCutOffProxy, type CutOffProxy } from "./chaos/cut-off-proxy.ts";
import type { Reply } from "./support/client.ts";
import { useServer } from "./support/given.ts";
import { runProgram } from "./support/programs.ts";
import { stubDriver } from "./support/stub-driver.ts";

let proxy: CutOffProxy;
const given = useServer({
  driver: stubDriver,
  async reach({ connectionTimeoutMillis: _, ...connection }) {
    const host = "127.0.0.1";
    proxy = await startCutOffProxy({ host, port: connection.port });
    return { ...connection, host, port: proxy.port };
  },
});

const PROGRAM = { command_type: "SparkCommand", language: "python", program: "true" };

async function timed(call: { reply(): Promise<Reply> }): Promise<{ status: number; message: string; seconds: number }> {
  const beganAt = performance.now();
  const reply = await call.reply();
  const seconds = (performance.now() - beganAt) / 1000;
  return { status: reply.status, message: String(reply.body?.error?.error_message), seconds };
}

test("a silent database leads to 503 within 5 seconds, and requests work as soon as it responds again", async () => {
  const account = await given.account();
  await Promise.all(Array.from({ length: 30 }, () => account.get("/account"))); // idle connections that will be dead
  await proxy.cut();
  const key = { headers: { "Idempotency-Key": "one" } };
  const first = await Promise.all([
    timed(account.get("/account")),
    timed(account.post("/commands", { ...PROGRAM, name: "once" }, key)),
    timed(account.get("/commands?all_users=1")),
    timed(given.anonymous().get("/api/../readyz")),
  ]);
  for (const reply of first) expect(reply).toMatchObject({ status: 503 });
  for (const { seconds } of first) expect(seconds).toBeLessThan(5);

  // The outage is known by now.
  const second = await timed(account.get("/account"));
  expect(second.status).toBe(503);
  expect(second.seconds).toBeLessThan(2);

  await proxy.heal("is lost");
  await expect.poll(async () => (await account.get("/account").reply()).status, { timeout: 5_000 }).toBe(200);
  const after = await Promise.all(Array.from({ length: 40 }, () => timed(account.get("/account"))));
  expect(after.map(({ status }) => status)).toEqual(Array(40).fill(200));
  const { id } = await account.post("/commands", { ...PROGRAM, name: "once" }, key);
  const { commands } = await account.get("/commands?name=once");
  expect(commands.map((command: { id: number }) => command.id)).toEqual([id]);
  await runProgram(account, "echo the queue works");
});
