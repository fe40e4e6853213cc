import { describe, expect, test } from "vitest";
import { mintToken } from "../access/token.ts";
import { Client } from "../../test/support/client.ts";
import { useServer } from "../../test/support/given.ts";

let nowMs = Date.UTC(2026, 0, 1);
const given = useServer({
  settings: { HEADGATE_RATE_LIMIT: "2", HEADGATE_BAD_TOKEN_LIMIT: "3" },
  clock: { now: () => new Date(nowMs) },
});

const BURST = 10;

async function statuses(client: Client, times: number): Promise<number[]> {
  const found: number[] = [];
  for (let time = 0; time < times; time += 1) found.push((await client.get("/whitelist_ip").reply()).status);
  return found;
}

describe("a token's limit", () => {
  test("is 429 with Retry-After once the burst is used, and refills over time", async () => {
    const account = await given.account();
    expect(await statuses(account, BURST)).toEqual(Array(BURST).fill(200));
    const refused = await account.get("/whitelist_ip").refused(429);
    expect(refused.headers.get("retry-after")).toBe("1");
    nowMs += 1000;
    expect(await statuses(account, 3)).toEqual([200, 200, 429]);
  });

  test("does not affect another token of the account", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"] });
    await statuses(account, BURST + 1);
    expect(await statuses(member, 1)).toEqual([200]);
  });
});

describe("an address that guesses tokens", () => {
  test("is 429 after its limit; valid tokens from there still work, and missing ones do not count", async () => {
    const account = await given.account();
    expect(await statuses(given.anonymous(), 5)).toEqual(Array(5).fill(401));
    const guess = (): Client => new Client(given.base, mintToken());
    const found: number[] = [];
    for (let time = 0; time < 3; time += 1) found.push(...(await statuses(guess(), 1)));
    expect(found).toEqual([401, 401, 401]);
    const refused = await guess().get("/whitelist_ip").refused(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(await statuses(new Client(given.base, "no token at all"), 1)).toEqual([429]);
    expect(await statuses(account, 1)).toEqual([200]);
    expect(await statuses(given.anonymous(), 1)).toEqual([401]);
    nowMs += 60_000;
    expect(await statuses(guess(), 1)).toEqual([401]);
  });

  test("is 429 after the same limit if it sends them as Authorization: Bearer", async () => {
    nowMs += 60_000;
    const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
    const guess = () => given.anonymous().get("/whitelist_ip", bearer(mintToken()));
    for (let time = 0; time < 3; time += 1) await guess().refused(401);
    await guess().refused(429);
    const { token = "" } = await given.account();
    await given.anonymous().get("/whitelist_ip", bearer(token));
  });
});
