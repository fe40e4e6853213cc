/** Access is checked again when a body arrives late, so a client cannot keep rights by holding a request open. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Client } from "../../test/support/client.ts";
import { useServer, type AccountClient, type MemberClient } from "../../test/support/given.ts";

let ahead = 0;
const given = useServer({ clock: { now: () => new Date(Date.now() + ahead) } });

const SECRET = "written after the denial";

let admin: AccountClient;
let user: MemberClient;
let id: number;

beforeEach(async () => {
  admin = await given.account();
  user = await given.member(admin, { groups: ["system-user"] });
  ({ id } = await admin.post("/notebooks", { name: "a", location: "Common" }));
});

interface HeldRequest {
  /** Sends the body. */
  finish(): Promise<{ status: number; text: string }>;
}

/** Sends the headers of a request and waits until the server reads its body, after the first check of access. */
async function hold(client: MemberClient, method: string, path: string, body = "{}"): Promise<HeldRequest> {
  const request = httpRequest(`${client.base}/api/v1.2${path}`, {
    method,
    headers: { "X-AUTH-TOKEN": client.token ?? "", "Content-Length": body.length },
  });
  onTestFinished(() => void request.destroy());
  const answered = once(request, "response");
  answered.catch(() => undefined);
  let received: IncomingMessage | undefined;
  const note = (message: unknown): void => {
    ({ request: received } = message as { request: IncomingMessage }); // documented by Node, but untyped
  };
  subscribe("http.server.request.start", note);
  request.flushHeaders();
  await expect.poll(() => received?.listenerCount("data"), { interval: 5 }).toBeGreaterThan(0);
  unsubscribe("http.server.request.start", note);
  return {
    async finish() {
      request.end(body);
      const [response] = await answered;
      return { status: response.statusCode, text: await text(response) };
    },
  };
}

function setPolicy(client: Client, elements: readonly unknown[]): PromiseLike<unknown> {
  const policy = JSON.stringify(elements);
  return client.put("/object_policy/policy", { source_type: "note", source_id: String(id), policy });
}

describe("a request whose body arrives late", () => {
  test.each<{ what: string; method: string; path: () => string; body: string }>([
    { what: "an edit", method: "PUT", path: () => `/notebooks/${id}`, body: "{}" },
    { what: "a clone", method: "PUT", path: () => `/notebooks/${id}/clone`, body: '{"name":"copy"}' },
    { what: "a move", method: "PUT", path: () => `/notebooks/${id}/move`, body: '{"location":"Common"}' },
    { what: "a deletion", method: "DELETE", path: () => `/notebooks/${id}`, body: "{}" },
    { what: "a new notebook", method: "POST", path: () => "/notebooks", body: '{"name":"b","location":"Common"}' },
  ])("is refused if a policy denies it meanwhile: $what", async ({ method, path, body }) => {
    const held = await hold(user, method, path(), body);
    await setPolicy(admin, [{ access: "deny" }]);
    const policy = JSON.stringify([{ access: "deny", action: ["write"] }]);
    await admin.put("/folders/policy", { location: "Common", type: "notes", policy });
    await admin.put(`/notebooks/${id}`, { paragraphs: [{ language: "sql", text: SECRET }] });
    ahead += 1000;
    const reply = await held.finish();
    expect(reply).toMatchObject({ status: 403, text: expect.stringMatching(/the policy of the \w+ denies/) });
    expect(reply.text).not.toContain(SECRET);
    await admin.get(`/notebooks/${id}`);
  });

  test("is refused if the user is disabled or loses the group or the token meanwhile", async () => {
    const disabled = await hold(user, "PUT", `/notebooks/${id}`);
    const second = await given.member(admin, { groups: ["system-user"] });
    const removed = await hold(second, "POST", "/commands", '{"command_type":"SparkCommand","sql":"select 1"}');
    const third = await given.member(admin, { groups: ["system-user"] });
    const reset = await hold(third, "POST", "/folders", '{"name":"b","location":"Common","type":"notes"}');
    await admin.post("/accounts/disable_svc_user", { svc_user_id: String(user.membershipId) });
    const { groups } = await admin.get("/groups");
    const systemUsers = groups.find(({ name }: { name: string }) => name === "system-user").id;
    await admin.put(`/groups/${systemUsers}/svc_users/${second.membershipId}/remove`, {});
    await admin.put("/accounts/token", { emails: third.email });
    ahead += 1000;
    expect(await disabled.finish()).toMatchObject({ status: 403, text: expect.stringMatching(/is disabled/) });
    expect(await removed.finish()).toMatchObject({ status: 403 });
    expect(await reset.finish()).toMatchObject({ status: 401 });
  });

  test("is carried out if the caller still may", async () => {
    const held = await hold(user, "PUT", `/notebooks/${id}`, '{"name":"late"}');
    ahead += 30_000;
    expect(await held.finish()).toMatchObject({ status: 200, text: expect.stringContaining('"late"') });
  });
});
