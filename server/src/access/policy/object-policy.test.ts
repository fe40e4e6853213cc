import { beforeEach, describe, expect, test } from "vitest";
import { useSharedServer, type MemberClient } from "../../../test/support/given.ts";
import type { Call, Client } from "../../../test/support/client.ts";
import { sendAs } from "../../../test/support/raw-request.ts";
import { givenTeam, type Team } from "../../../test/support/team.ts";
import { withoutId } from "../../../test/support/without-id.ts";

const given = useSharedServer();
const PATH = "/object_policy/policy";

let admin: Team["admin"];
let user: Team["user"];
let outsider: Team["outsider"];
let groupId: number;
let id: number;

beforeEach(async () => {
  ({ admin, user, outsider, groupId } = await givenTeam(given));
  ({ id } = await admin.post("/api/v2/clusters", { labels: ["shared"], engine: { type: "local" } }));
});

const body = (elements: unknown) => ({
  source_type: "cluster",
  source_id: String(id),
  policy: JSON.stringify(elements),
});
const set = (elements: unknown, client: Client = admin): Call => client.put(PATH, body(elements));
const view = (client: Client = admin): Call => client.get(`${PATH}?source_type=cluster&source_id=${id}`);
const to = (...members: MemberClient[]) => ({ svc_users: members.map(({ membershipId }) => membershipId) });

describe("PUT object_policy/policy", () => {
  test("replaces the whole policy, and the view shows it", async () => {
    const policy = [
      { access: "allow", action: ["read", "update"], condition: { ...to(user), svc_groups: [groupId] } },
      { access: "deny", action: ["all"], condition: to(outsider) },
      { access: "deny" },
    ];
    const reply = { status: "success", source_id: id, source_type: "cluster", policy };
    expect(await set(policy)).toEqual(reply);
    expect(await view()).toEqual(reply);
    expect(await set([{ access: "allow" }])).toMatchObject({ policy: [{ access: "allow" }] });
    expect(await view()).toMatchObject({ policy: [{ access: "allow" }] });
    await set([]);
    expect(await view()).toMatchObject({ policy: [] });
  });

  test("that denies all to the same users and groups still allows them the actions that it names", async () => {
    const listed = { ...to(outsider), svc_groups: [groupId] };
    await admin.put(`/groups/${groupId}/svc_users/${user.membershipId}/add`, {});
    await set([
      { access: "allow", action: ["read", "update"], condition: listed },
      { access: "deny", action: ["all"], condition: listed },
    ]);
    for (const member of [user, outsider]) {
      await member.get(`/api/v2/clusters/${id}`);
      await member.put(`/api/v2/clusters/${id}`, {});
      await member.put(`/api/v2/clusters/${id}/state`, { state: "start" }).refused(403);
      await member.delete(`/api/v2/clusters/${id}`).refused(403);
      await set([], member).refused(403);
    }
  });

  test("is audited with before and after", async () => {
    await set([{ access: "allow" }]);
    await set([{ access: "deny", action: ["read"], condition: to(user) }]);
    const { audit_events: events } = await admin.get("/api/v2/audit_events?operation=object_policy_set");
    expect(events).toMatchObject([
      {
        object: `cluster/${id}`,
        detail: { before: [{ access: "allow" }], after: [{ access: "deny", action: ["read"], condition: to(user) }] },
      },
      { object: `cluster/${id}`, detail: { before: [], after: [{ access: "allow" }] } },
    ]);
  });

  test("may be sent as an array", async () => {
    const policy = [{ access: "allow", action: ["read"], condition: to(user) }, { access: "deny" }];
    expect(await admin.put(PATH, { ...body([]), policy })).toMatchObject({ policy });
    expect(await view()).toMatchObject({ policy });
  });

  test.each([
    [{ source_id: undefined }, /^source_id is required/],
    [{ source_type: undefined }, /^source_type is required/],
    [{ policy: undefined }, /^policy is required/],
    [{ source_type: "table" }, /^source_type must be one of note, cluster, scheduler, environment/],
    [{ source_id: "abc" }, /^source_id must be .* lists such as GET clusters show it/],
    [{ policy: "not JSON" }, /^policy must be an array, or the JSON text of one/],
    [{ policy: '[{"access":"allow","action":["write"]}]' }, /^policy\[0\]\.action must be/],
    [{ policy: [{ access: "allow", action: ["write"] }] }, /^policy\[0\]\.action must be/],
    [
      { policy: [{ access: "allow", action: ["read"], condition: { svc_groups: ["etl-people"] } }] },
      /^policy\[0\]\.condition\.svc_groups must be an array of ids.*: GET groups shows them/,
    ],
    [
      { policy: [{ access: "allow", action: ["read"], condition: { svc_users: "ada@example.com" } }] },
      /^policy\[0\]\.condition\.svc_users must be an array of ids: GET accounts\/get_users shows them/,
    ],
    [{ policy: { access: "allow" } }, /^policy must be a string or an array/],
    [{ policy: '[{"access":"allow"},{"access":"allow","action":["read"],"condition":{}}]' }, /^policy\[1\]\.condition/],
  ])("refuses %j and keeps the policy", async (change, message) => {
    await set([{ access: "allow" }]);
    await admin.put(PATH, { ...body([]), ...change }).refused(422, message);
    expect(await view()).toMatchObject({ policy: [{ access: "allow" }] });
  });

  test("refuses users and groups that are unknown or of another account, with the same message", async () => {
    const other = await given.account();
    const stranger = await given.member(other);
    const { group } = await other.post("/groups", { name: "theirs" });
    await set([{ access: "allow" }]);
    for (const [list, foreign] of [
      ["svc_users", stranger.membershipId],
      ["svc_groups", group.id],
    ] as const) {
      const [one, two] = await Promise.all(
        [foreign, 98_765_432].map((each) =>
          set([{ access: "allow" }, { access: "deny", action: ["all"], condition: { [list]: [each] } }]).refused(
            422,
            new RegExp(`^policy\\[1\\]\\.condition\\.${list} must contain only ids of .* of the account`),
          ),
        ),
      );
      expect(one?.text.replace(String(foreign), "?")).toBe(two?.text.replace("98765432", "?"));
    }
    expect(await view()).toMatchObject({ policy: [{ access: "allow" }] });
  });

  test.each(["scheduler", "environment"])(
    "of a %s is validated, then 404, because there are none yet",
    async (type) => {
      const request = { source_type: type, source_id: "1", policy: "[]" };
      await admin.put(PATH, { ...request, policy: "x" }).refused(422, /^policy/);
      await admin.put(PATH, request).refused(404);
      await admin.get(`${PATH}?source_type=${type}&source_id=1`).refused(404);
      await outsider.put(PATH, request).refused(403, new RegExp(`${type}:manage`));
    },
  );

  test("is refused unless the policy allows manage by name", async () => {
    await set([], user).refused(403, /cluster:manage/);
    await set([{ access: "allow", action: ["all"], condition: to(user) }]);
    await set([], user).refused(403);
    await set([{ access: "allow", action: ["manage"], condition: to(outsider) }]);
    await set([{ access: "allow", action: ["manage", "read"], condition: to(outsider) }], outsider);
    await set([], user).refused(403);
  });

  test.each(["manage", "read", "update"])("a role that allows manage is not enough if %s is denied", async (action) => {
    const policies = '[{"resource":"cluster","action":["manage"],"access":"allow"}]';
    await admin.post("/roles", { name: "managers", policies });
    await admin.post("/groups", { name: "managers", roles: "managers" });
    const manager = await given.member(admin, { groups: ["managers"] });
    await set([{ access: "deny", action: ["delete", "start"], condition: to(manager) }], manager);
    await set([{ access: "deny", action: [action], condition: to(manager) }], manager);
    await set([], manager).refused(403, new RegExp(`denies ${action}`));
  });

  test("unknown objects and those of other accounts are 404, without permission 403, without a token 401", async () => {
    const other = await given.account();
    const { id: foreign } = await other.post("/api/v2/clusters", { labels: ["theirs"], engine: { type: "local" } });
    for (const [client, status] of [
      [admin, 404],
      [outsider, 403],
      [given.anonymous(), 401],
    ] as const) {
      const [ofForeign, ofUnknown] = await Promise.all(
        [foreign, 98_765_432].map(async (source) => [
          withoutId(await client.put(PATH, { ...body([]), source_id: source }).refused(status), source),
          withoutId(await client.get(`${PATH}?source_type=cluster&source_id=${source}`).refused(status), source),
        ]),
      );
      expect(ofForeign).toEqual(ofUnknown);
    }
  });
});

describe("GET object_policy/policy", () => {
  test("takes its fields from a JSON body", async () => {
    await set([{ access: "allow" }]);
    const body = JSON.stringify({ source_id: String(id), source_type: "cluster" });
    const { text } = await sendAs(given.base, admin, { method: "GET", path: `/api/v1.2${PATH}`, body });
    expect(JSON.parse(text)).toMatchObject({ source_id: id, policy: [{ access: "allow" }] });
  });

  test("needs the permission to read and no deny of read, or a policy that allows manage", async () => {
    await view(outsider).refused(403);
    await set([{ access: "allow", action: ["read"], condition: to(outsider) }]);
    await view(outsider).refused(403);
    await view(user);
    await set([
      { access: "deny", action: ["read"], condition: to(user, outsider) },
      { access: "allow", action: ["manage"], condition: to(outsider) },
    ]);
    await view(user).refused(403);
    await view(outsider);
  });

  test("leaves out deleted groups, and an element that named only these never applies to everyone", async () => {
    await set([
      { access: "allow", action: ["read"], condition: { ...to(outsider), svc_groups: [groupId] } },
      { access: "deny", action: ["read"], condition: { svc_groups: [groupId] } },
    ]);
    await admin.delete(`/groups/${groupId}`);
    const { policy } = await view();
    expect(policy).toEqual([{ access: "allow", action: ["read"], condition: to(outsider) }]);
    await user.get(`/api/v2/clusters/${id}`);
    expect((await user.get("/api/v2/clusters")).clusters).toHaveLength(2);
    await set(policy);
    expect(await view()).toMatchObject({ policy });
  });
});

describe("GET access/explain", () => {
  const explain = (client: Client, action: string, member?: MemberClient): Call =>
    client.get(
      `/api/v2/access/explain?source_type=cluster&source_id=${id}&action=${action}` +
        (member === undefined ? "" : `&user=${member.membershipId}`),
    );

  test("names the element, the group, the owner, the admin or the row that decides", async () => {
    await admin.put(`/groups/${groupId}/svc_users/${outsider.membershipId}/add`, {});
    await set([
      { access: "deny" },
      { access: "allow", action: ["read"], condition: { svc_groups: [groupId] } },
      { access: "deny", action: ["start"], condition: to(user) },
    ]);
    expect(await explain(admin, "read", outsider)).toEqual({
      source_type: "cluster",
      source_id: id,
      action: "read",
      user: { id: outsider.membershipId, email: outsider.email },
      allowed: true,
      decided_by: "policy",
      policy: {
        source_type: "cluster",
        source_id: id,
        element: 1,
        access: "allow",
        action: "read",
        matched: "group",
        svc_groups: [groupId],
      },
      permission: null,
    });
    expect(await explain(admin, "start", user)).toMatchObject({
      allowed: false,
      policy: { element: 2, matched: "user", svc_groups: [] },
    });
    expect(await explain(admin, "delete", user)).toMatchObject({
      allowed: false,
      policy: { element: 0, matched: "everyone" },
    });
    expect(await explain(admin, "delete")).toMatchObject({ allowed: true, decided_by: "system-admin", policy: null });
    await set([]);
    expect(await explain(admin, "update", user)).toMatchObject({
      allowed: false,
      decided_by: "table",
      permission: { groups: ["system-admin"], role: "cluster:update" },
    });
    expect(await explain(user, "read")).toMatchObject({ allowed: true, decided_by: "table" });
  });

  test("agrees with the operation, also for users who are not active", async () => {
    const disabled = await given.member(admin, { groups: ["system-admin"], state: "disabled" });
    await set([{ access: "allow", action: ["read"], condition: to(outsider) }]);
    for (const member of [user, outsider, disabled]) {
      const { status } = await member.get(`/api/v2/clusters/${id}`).reply();
      expect(await explain(admin, "read", member)).toMatchObject({ allowed: status === 200 });
    }
    expect(await explain(admin, "read", disabled)).toMatchObject({ decided_by: "state" });
  });

  test("needs read for one's own rights, and manage for those of others", async () => {
    await explain(outsider, "read").refused(403);
    await explain(user, "read", user).refused(403);
    await set([{ access: "allow", action: ["read"], condition: to(outsider) }]);
    expect(await explain(outsider, "delete")).toMatchObject({ allowed: false, decided_by: "table" });
    await set([{ access: "allow", action: ["manage"], condition: to(user) }]);
    expect(await explain(user, "manage", user)).toMatchObject({ allowed: true });
    expect(await explain(user, "manage", outsider)).toMatchObject({ allowed: false });
  });

  test("takes a user by id or by e-mail in any case", async () => {
    const path = `/api/v2/access/explain?source_type=cluster&source_id=${id}&action=read&user=`;
    for (const name of [user.membershipId, user.email, user.email.toUpperCase()]) {
      expect(await admin.get(`${path}${name}`)).toMatchObject({ user: { id: user.membershipId, email: user.email } });
    }
    await admin.get(`${path}nobody@example.com`).refused(422, /^user must be/);
  });

  test("refuses unknown users, actions and objects", async () => {
    const stranger = await given.member(await given.account());
    await explain(admin, "read", stranger).refused(422, /^user must be/);
    await explain(admin, "write").refused(422, /^action must be one of read, update/);
    await admin.get("/api/v2/access/explain?source_type=cluster&source_id=98765432&action=read").refused(404);
    await outsider.get("/api/v2/access/explain?source_type=cluster&source_id=98765432&action=read").refused(403);
    await given.anonymous().get("/api/v2/access/explain").refused(401);
  });
});
