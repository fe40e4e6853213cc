import { expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";
import { rawSocket } from "../../test/support/raw-request.ts";
import { beginBody, refusalOf } from "../../test/support/unfinished-body.ts";

const given = useServer({ settings: { HEADGATE_ACCOUNT_BODIES: "4m" } });
const MIB = 1024 * 1024;

test("headers that take more than 30 seconds are 408, and so is a body that takes a minute, which releases its memory", async () => {
  const account = await given.account({ features: ["large_inline_content"] });
  const beganAt = performance.now();
  const { answer, request } = beginBody(given.base, account, { bytes: 4 * MIB, beginning: "x".repeat(3 * MIB) });
  const trickle = setInterval(() => request.write("x"), 1_000);
  await expect.poll(() => refusalOf(given.base, account, 4 * MIB)).toBe(429);
  const headers = ["", "GET /healthz HTTP/1.1\r\nX-Slow: "].map((bytes) => rawSocket(given.base, bytes));
  for (const { status } of await Promise.all(headers)) expect(status).toBe(408);
  expect(performance.now() - beganAt).toBeLessThan(45_000);
  expect(await answer).toMatchObject({ status: 408, connection: "close" });
  clearInterval(trickle);
  expect(performance.now() - beganAt).toBeLessThan(75_000);
  const rawBody = JSON.stringify({ command_type: "SparkCommand", language: "python", program: "true" });
  const submit = () => account.post("/commands", undefined, { rawBody: rawBody.padEnd(4 * MIB) }).reply();
  await expect.poll(async () => (await submit()).status).toBe(200);
});
