import { expect, test } from "vitest";
import { startSilentServer } from "../../test/silent-server/silent-server.ts";
import { guardedAgent, sendRequest } from "./guarded-agent.ts";

/** Longer than a test may take. */
const NEVER_MS = 300_000;
const limits = { connectTimeoutMs: NEVER_MS, headersTimeoutMs: NEVER_MS, bodyIdleTimeoutMs: NEVER_MS };

test("closing an agent whose requests were aborted ends all pending connections and opens no others", async () => {
  const silent = await startSilentServer();
  const { dispatcher, close } = guardedAgent(() => null, { ...limits, maxConnections: 2 });
  const request = { origin: `https://127.0.0.1:${silent.port}`, path: "/", method: "GET" } as const;
  const calling = new AbortController();
  const requests = Array.from({ length: 7 }, () => sendRequest(dispatcher, request, calling.signal));
  await expect.poll(silent.open).toBe(2);
  calling.abort(new Error("aborted by the caller"));
  for (const each of requests) await expect(each).rejects.toThrow("aborted by the caller");
  await close();
  await expect.poll(silent.open).toBe(0);
  expect(silent.accepted()).toBe(2);
});
