import { describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";

const given = useServer();

const withKey = (key: string) => ({ headers: { "Idempotency-Key": key } });

async function auditRows(account: AccountClient, operation: string): Promise<number> {
  const rows = await given.app.services.db.system.query<{ n: number }>(
    "select count(*)::int n from audit_event where account_id = $1 and operation = $2 and outcome = 'done'",
    [account.accountId, operation],
  );
  return rows[0]?.n ?? 0;
}

async function storedReplies(account: AccountClient): Promise<string[]> {
  const rows = await given.app.services.db.system.query<{ row: string }>(
    "select i::text || encode(i.reply, 'escape') as row from idempotency i where account_id = $1",
    [account.accountId],
  );
  return rows.map(({ row }) => row);
}

describe("Idempotency-Key", () => {
  test("answers a repeated POST with the first reply and executes it once", async () => {
    const account = await given.account();
    const first = await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("k1")).reply();
    const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
    await account.delete(`/whitelist_ip/${id}`);
    const second = await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("k1")).reply();
    expect(second.text).toBe(first.text);
    expect(second.status).toBe(200);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect((await account.get("/whitelist_ip")).account_whitelisted_ips).toEqual([]);
    expect(await auditRows(account, "whitelist_ip_add")).toBe(1);
  });

  test("creates one account however often the request is sent, and returns the same token", async () => {
    const account = await given.account();
    const body = { account: { name: "Once" } };
    const first = await account.post("/account", body, withKey("create")).reply();
    const second = await account.post("/account", body, withKey("create")).reply();
    expect(first.status, first.text).toBe(200);
    expect(second.text).toBe(first.text);
    expect(await auditRows(account, "account_create")).toBe(1);
    const stored = await storedReplies(account);
    expect(stored).toHaveLength(1);
    expect(stored[0]).not.toContain(first.body.authentication_token);
    const owner = { headers: { "X-AUTH-TOKEN": first.body.authentication_token } };
    await account.get("/whitelist_ip", owner);
  });

  test("with another body is 422, and the first change is kept", async () => {
    const account = await given.account();
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("k")).reply();
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.2" }, withKey("k")).refused(422, /Idempotency-Key/);
    expect((await account.get("/whitelist_ip")).account_whitelisted_ips).toHaveLength(1);
  });

  test("is scoped to the token and the path", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"] });
    const stranger = await given.account();
    for (const client of [account, member, stranger]) {
      const reply = await client.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("same")).reply();
      expect(reply.headers.get("idempotent-replayed")).toBeNull();
      expect(reply.status).toBe(200);
    }
    const elsewhere = await account.post("/groups", { name: "g" }, withKey("same")).reply();
    expect(elsewhere.status).toBe(200);
  });

  test("is the same key in every spelling of the path", async () => {
    const account = await given.account();
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("k"));
    for (const path of ["/whitelist_ip/", "/whitelist_ip.json", "/whitelist_ip?"]) {
      const reply = await account.post(path, { ip_cidr: "10.0.0.1" }, withKey("k")).reply();
      expect(reply.headers.get("idempotent-replayed"), path).toBe("true");
    }
  });

  test.each(["x".repeat(256), ""])("that is too long or empty (case %#) is 422 and changes nothing", async (key) => {
    const account = await given.account();
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey(key)).refused(422, /Idempotency-Key/);
    expect((await account.get("/whitelist_ip")).account_whitelisted_ips).toEqual([]);
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("x".repeat(255)));
  });

  test("sent many times at once executes once; the others get the same reply or 409", async () => {
    const account = await given.account();
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => account.post("/groups", { name: "once" }, withKey("race")).reply()),
    );
    const done = replies.filter(({ status }) => status === 200);
    const waiting = replies.filter(({ status }) => status === 409);
    expect(done.length + waiting.length).toBe(replies.length);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    for (const { headers, body } of waiting) {
      expect(headers.get("retry-after")).toBe("1");
      expect(body.error.error_message).toMatch(/Idempotency-Key/);
    }
    expect(await auditRows(account, "group_create")).toBe(1);
    const after = await account.post("/groups", { name: "once" }, withKey("race")).reply();
    expect(after.headers.get("idempotent-replayed")).toBe("true");
  });

  test("stores no refusal: a refused request can be sent again", async () => {
    const account = await given.account();
    await account.post("/groups", { name: "" }, withKey("k")).refused(422);
    await account.post("/groups", { name: "works" }, withKey("k"));
  });

  test("never stores an internal error", async () => {
    const account = await given.account();
    const { db } = given.app.services;
    await db.system.query("alter table whitelisted_ip rename to hidden");
    try {
      await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("k")).refused(500, /^Something went wrong/);
    } finally {
      await db.system.query("alter table hidden rename to whitelisted_ip");
    }
    expect(await storedReplies(account)).toEqual([]);
    const reply = await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("k")).reply();
    expect(reply.status).toBe(200);
    expect(reply.headers.get("idempotent-replayed")).toBeNull();
  });

  test("stores the reply encrypted", async () => {
    const account = await given.account();
    const { message } = (await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, withKey("sealed"))).status;
    const [row = ""] = await storedReplies(account);
    expect(row).toContain("sealed");
    expect(row).not.toContain(message);
    expect(row).not.toContain("status_code");
  });

  test("is ignored on other methods", async () => {
    const account = await given.account();
    await account.get("/whitelist_ip", withKey("x".repeat(300)));
    await account.delete("/whitelist_ip/999", undefined, withKey("k")).refused(404);
  });
});
