import { expect, test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";
import { rawSocket } from "../../test/support/raw-request.ts";

const given = useSharedServer();

/** The status of a request with these headers. */
async function statusOf(headers: Record<string, string>): Promise<number> {
  const { status } = await given.anonymous().get("/account", { headers }).reply();
  return status;
}

test("a token may be in X-AUTH-TOKEN, in Authorization, or in both", async () => {
  const { token = "" } = await given.account();
  expect(await statusOf({ "X-AUTH-TOKEN": token })).toBe(200);
  expect(await statusOf({ Authorization: `Bearer ${token}` })).toBe(200);
  expect(await statusOf({ Authorization: `bearer  ${token} ` })).toBe(200);
  expect(await statusOf({ "X-AUTH-TOKEN": token, Authorization: `Bearer ${token}` })).toBe(200);
});

test("two different tokens are refused, even if both are valid", async () => {
  const [one, other] = [await given.account(), await given.account()];
  const headers = { "X-AUTH-TOKEN": one.token ?? "", Authorization: `Bearer ${other.token}` };
  await given
    .anonymous()
    .get("/account", { headers })
    .refused(401, /contain different tokens/);
});

test("several Authorization headers are refused, whatever they contain", async () => {
  const { token = "" } = await given.account();
  for (const [first, second] of [
    [`Bearer ${token}`, "Bearer other"],
    [`Basic x`, `Bearer ${token}`],
    [`Bearer ${token}`, `Bearer ${token}`],
  ]) {
    const lines = ["Host: headgate", `Authorization: ${first}`, `Authorization: ${second}`, "Connection: close"];
    const { status, text } = await rawSocket(
      given.base,
      `GET /api/v2/accounts HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`,
    );
    expect([status, text]).toEqual([401, expect.stringContaining("several Authorization headers")]);
  }
});

test("other forms of Authorization are ignored", async () => {
  const { token = "" } = await given.account();
  for (const Authorization of [`Basic ${token}`, token, "Bearer", `Bearer ${token} ${token}`, ""]) {
    expect(await statusOf({ Authorization }), Authorization).toBe(401);
    expect(await statusOf({ Authorization, "X-AUTH-TOKEN": token }), Authorization).toBe(200);
  }
});

test("a refusal says how to send a token", async () => {
  await given
    .anonymous()
    .get("/account")
    .refused(401, /send it as X-AUTH-TOKEN, or as Authorization: Bearer/);
  await given
    .anonymous()
    .get("/account", { headers: { Authorization: "Bearer wrong" } })
    .refused(401, /The token in X-AUTH-TOKEN or Authorization is not valid/);
});
