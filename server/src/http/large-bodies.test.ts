import { describe, expect, onTestFinished, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { rawRequest } from "../../test/support/raw-request.ts";
import { beginBody, refusalOf } from "../../test/support/unfinished-body.ts";
import { BodyParser } from "./body-parser.ts";

const given = useServer({ settings: { HEADGATE_ACCOUNT_BODIES: "12m", HEADGATE_NODE_BODIES: "20m" } });

const MIB = 1024 * 1024;
const LARGE = 10 * MIB;

const begin = (account: AccountClient | undefined, bytes: number | "chunked", beginning?: string) =>
  beginBody(given.base, account, { bytes, ...(beginning === undefined ? {} : { beginning }) });
const large = (): Promise<AccountClient> => given.account({ features: ["large_inline_content"] });

describe("a large body", () => {
  test("above 2 MiB is 413 before it is read, unless the account has the feature", async () => {
    const account = await given.account();
    expect(await begin(account, 2 * MIB + 1).answer).toMatchObject({ status: 413, connection: "close" });
    const reply = await account
      .post("/commands", { command_type: "SparkCommand", program: "x".repeat(2 * MIB) })
      .reply();
    expect(reply.body.error.error_message).toMatch(/larger than 2 MiB: .*large_inline_content/);
  });

  test("is accepted while other accounts declare large bodies but send nothing, or single bytes", async () => {
    const victim = await large();
    const attackers = await Promise.all(Array.from({ length: 4 }, large));
    const silent = attackers.map((account) => begin(account, 12 * MIB));
    const slow = attackers.map((account) => begin(account, 12 * MIB, "x".repeat(20 * 1024)));
    const trickle = setInterval(() => slow.forEach(({ request }) => void request.write("x")), 5);
    onTestFinished(() => clearInterval(trickle));
    for (let round = 0; round < 3; round += 1) expect((await submit(victim, 9 * MIB)).status).toBe(200);
    // None has been refused: they reserve next to nothing.
    const answers = [...silent, ...slow].map(({ answer }) => answer);
    expect(await Promise.race([...answers, Promise.resolve("none yet")])).toBe("none yet");
  });

  test("is 429 when the account sends several at once, and 503 when all accounts together do", async () => {
    const [one, two, three] = await Promise.all([large(), large(), large()]);
    const most = "x".repeat(6 * MIB);
    const first = begin(one, LARGE, most);
    await expect.poll(() => refusalOf(given.base, one, LARGE)).toBe(429);
    expect(await begin(one, LARGE).answer).toMatchObject({ status: 429, retryAfter: "1" });
    const second = begin(two, LARGE, most);
    // Until both have arrived as far as they were sent, there may be room for the third.
    await expect.poll(() => refusalOf(given.base, three, LARGE)).toBe(503);
    expect(await begin(three, LARGE).answer).toMatchObject({ status: 503, retryAfter: "1" });
    // Every account has room for an ordinary submission, and the rest is released when the senders disconnect.
    expect((await submit(three, 2 * MIB)).status).toBe(200);
    first.request.destroy();
    second.request.destroy();
    await expect.poll(async () => (await submit(three, LARGE)).status, { timeout: 5_000 }).toBe(200);
  });

  test("is accepted when several that do not fit together are sent at the same time", async () => {
    const account = await large();
    const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await submit(account, LARGE)).status));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });

  test("without a declared length is counted as it arrives", async () => {
    const account = await given.account();
    const { answer, request } = begin(account, "chunked");
    for (let sent = 0; sent <= 2 * MIB; sent += MIB / 4) request.write("x".repeat(MIB / 4));
    expect(await answer).toMatchObject({ status: 413 });
  });

  test("without a valid token is refused before it is read; operations without a token accept 16 KiB", async () => {
    expect(await begin(undefined, LARGE).answer).toMatchObject({ status: 401, connection: "close" });
    expect(await begin(undefined, "chunked").answer).toMatchObject({ status: 401, connection: "close" });
    expect(await begin(undefined, MIB).answer).toMatchObject({ status: 401, connection: "keep-alive" });
    const body = JSON.stringify({ more: "x".repeat(20 * 1024) });
    for (const [method, path] of [
      ["POST", "/api/v2/invitations/accept"],
      ["GET", "/healthz"],
    ] as const) {
      expect(await rawRequest(given.base, { method, path, body })).toMatchObject({ status: 413 });
    }
  });

  test("does not block the event loop while it is parsed", async () => {
    const parser = new BodyParser();
    onTestFinished(() => parser.stop());
    const escaped = String.raw`\u0041`.repeat(5 * MIB);
    const parsing = parser.parseLarge(Buffer.from(`{"program": "${escaped}"}`));
    let turns = 0;
    const watch = setInterval(() => (turns += 1), 1);
    const { value } = await parsing;
    clearInterval(watch);
    expect(value).toEqual({ program: "A".repeat(5 * MIB) });
    expect(turns).toBeGreaterThan(5);
  });

  test("is parsed even if the idle thread has just stopped, and is 503 if its own thread stops", async () => {
    const parser = new BodyParser();
    onTestFinished(() => parser.stop());
    const body = (): Buffer => Buffer.from(JSON.stringify({ program: "x".repeat(200_000) }));
    await parser.parseLarge(body());
    parser.stop();
    expect((await parser.parseLarge(body())).value).toEqual({ program: "x".repeat(200_000) });
    const cut = parser.parseLarge(body());
    parser.stop();
    await expect(cut).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  });

  test("with too many values, broken JSON or invalid UTF-8 is 400", async () => {
    const account = await large();
    const many = `{"tags": [${"1,".repeat(200_000)}1]}`;
    await account.post("/commands", undefined, { rawBody: many }).refused(400, /more than 100000 values/);
    const broken = `{"program": "${"x".repeat(200_000)}"`;
    await account
      .post("/commands", undefined, { rawBody: broken })
      .refused(400, /not valid JSON: expected .* at line 1, column 200015\.$/);
    const bytes = new Uint8Array(Buffer.concat([Buffer.from(broken), Buffer.from([0xff])]));
    await account.post("/commands", undefined, { rawBody: bytes }).refused(400, /not valid UTF-8/);
  });

  test("is recognised by its Idempotency-Key", async () => {
    const account = await large();
    const key = { headers: { "Idempotency-Key": "large" } };
    const body = { command_type: "SparkCommand", language: "python", program: "x".repeat(300_000) };
    const { id } = await account.post("/commands", body, key);
    expect((await account.post("/commands", body, key)).id).toBe(id);
    await account.post("/commands", { ...body, program: "y".repeat(300_000) }, key).refused(422, /another body/);
  });
});

/** A submission whose body has this many bytes, most of them spaces. */
function submit(account: AccountClient, bytes: number) {
  const body = JSON.stringify({ command_type: "SparkCommand", language: "python", program: "true" });
  return account.post("/commands", undefined, { rawBody: body.padEnd(bytes) }).reply();
}
