import { describe, expect, test } from "vitest";
import { Client } from "../../test/support/client.ts";
import { newEmail, useSharedServer, type AccountClient } from "../../test/support/given.ts";

const given = useSharedServer();

interface Event {
  operation: string;
  outcome: string;
  email: string;
  user_id: number;
  address: string;
  object: string | null;
  request_id: string;
  count: number;
}

async function auditOf(account: AccountClient): Promise<Event[]> {
  return (await account.get("/api/v2/audit_events?per_page=100")).audit_events;
}

test("a person is invited, accepts, is approved, disabled, enabled again, and gets a new token", async () => {
  const admin = await given.account();
  const email = newEmail();

  const invited = await admin.post("/users/invite_new", { invitee_email: email });
  expect(invited).toEqual({
    status: "success",
    id: expect.any(Number),
    email,
    invitation_code: expect.stringMatching(/^hgi_[\w-]{43}$/),
  });
  expect((await admin.get("/accounts/get_user_emails")).emails).toEqual([admin.email]);

  const accepted = await given
    .anonymous()
    .post("/api/v2/invitations/accept", { code: invited.invitation_code, name: "Ada" });
  expect(accepted).toEqual({
    status: "success",
    id: expect.any(Number),
    email,
    authentication_token: expect.stringMatching(/^hg_/),
  });
  const person = new Client(given.base, accepted.authentication_token);
  await person.get("/accounts/get_users").refused(403, /approval/);
  expect((await admin.get("/accounts/get_users")).users).toHaveLength(1);
  expect((await admin.get("/accounts/get_pending_users")).pending_users).toEqual([
    { id: accepted.id, user_id: expect.any(Number), email, name: "Ada", created_at: expect.stringMatching(/Z$/) },
  ]);

  expect(await admin.post("/accounts/enable_svc_user", { svc_user_id: accepted.id })).toEqual({
    status: "success",
    id: accepted.id,
    email,
  });
  expect((await person.get("/accounts/get_user_emails")).emails).toEqual([admin.email, email]);
  expect((await admin.get("/accounts/get_pending_users")).pending_users).toEqual([]);

  await admin.post("/accounts/disable_svc_user", { svc_user_id: email });
  await person.get("/accounts/get_users").refused(403, /disabled/);
  expect((await admin.get("/accounts/get_users")).users).toMatchObject([{}, { email, disabled: true }]);

  await admin.post("/accounts/enable_svc_user", { svc_user_id: email.toUpperCase() });
  const reset = await person.put("/accounts/token", { overlap_minutes: 60 });
  expect(reset).toEqual({
    status: "success",
    tokens: [{ email, authentication_token: expect.stringMatching(/^hg_/) }],
  });
  const renewed = new Client(given.base, reset.tokens[0].authentication_token);
  await person.get("/accounts/get_users");
  await renewed.get("/accounts/get_users");
  await endOverlap(admin.accountId);
  await person.get("/accounts/get_users").refused(401);
  await renewed.get("/accounts/get_users");
});

async function endOverlap(accountId: number): Promise<void> {
  await given.app.services.db.asSystem((tx) =>
    tx.query("update api_token set expires_at = now() where account_id = $1 and expires_at is not null", [accountId]),
  );
}

describe("audit", () => {
  test("each change has the user, address, object and request", async () => {
    const admin = await given.account();
    const email = newEmail();
    const calls = [
      () => admin.post("/users/invite_new", { invitee_email: email }),
      (code: string) => given.anonymous().post("/api/v2/invitations/accept", { code, name: "Ada" }),
      () => admin.post("/accounts/enable_svc_user", { svc_user_id: email }),
      () => admin.put("/accounts/token", { emails: email }),
      () => admin.post("/accounts/disable_svc_user", { svc_user_id: email }),
    ];
    const requestIds: (string | null)[] = [];
    let code = "";
    for (const call of calls) {
      const reply = await call(code).reply();
      expect(reply.status, reply.text).toBe(200);
      requestIds.push(reply.headers.get("x-request-id"));
      code = reply.body.invitation_code ?? code;
    }
    const [entry] = (await admin.get("/accounts/get_users")).users.slice(-1);
    const membership = `membership/${entry.id}`;
    const events = (await auditOf(admin)).toReversed();
    expect(events.map(({ operation, email: actor, object }) => [operation, actor, object])).toEqual([
      ["user_invite", admin.email, expect.stringMatching(/^invitation\/\d+$/)],
      ["invitation_accept", email, membership],
      ["user_enable", admin.email, membership],
      ["token_reset", admin.email, membership],
      ["user_disable", admin.email, membership],
    ]);
    expect(events.map(({ request_id }) => request_id)).toEqual(requestIds);
    for (const event of events) {
      expect(event).toMatchObject({ address: "127.0.0.1", outcome: "done", count: 1, user_id: expect.any(Number) });
    }
    expect(events[1]?.user_id).toBe(entry.user_id);
  });

  test("refused changes are not recorded as changes", async () => {
    const admin = await given.account();
    await admin.post("/accounts/enable_svc_user", { svc_user_id: 999_999_999 }).refused(404);
    await admin.post("/accounts/disable_svc_user", { svc_user_id: admin.email }).refused(422);
    await admin.put("/accounts/token", { emails: "nobody@example.test" }).refused(422);
    expect(await auditOf(admin)).toEqual([]);
  });
});
