import { describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../../test/support/given.ts";
import { withoutId } from "../../../test/support/without-id.ts";

const given = useSharedServer();
const UNKNOWN = 987_654_321;

async function idsOf(account: AccountClient, groupId: number): Promise<number[]> {
  return (await account.get(`/groups/${groupId}/svc_users`)).users.map(({ id }: { id: number }) => id);
}

describe("GET groups/<id>/svc_users", () => {
  test("shows users as get_users does", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"] });
    const { id } = await account.get("/groups/system-user");
    const { users } = await account.get(`/groups/${id}/svc_users`);
    expect(users).toMatchObject([{ id: member.membershipId, email: member.email, is_admin: false, disabled: false }]);
    const { users: all } = await account.get("/accounts/get_users");
    expect(all).toContainEqual(users[0]);
  });

  test("another account's group gets the same reply as one that does not exist", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { id } = await owner.get("/groups/system-admin");
    for (const path of ["svc_users", "roles"]) {
      const foreign = await stranger.get(`/groups/${id}/${path}`).refused(404);
      const unknown = await stranger.get(`/groups/${UNKNOWN}/${path}`).refused(404);
      expect(withoutId(unknown, UNKNOWN)).toBe(withoutId(foreign, id));
      await owner.get(`/groups/system-admin/${path}`).refused(404);
    }
  });
});

describe("PUT groups/<id>/svc_users/<list>/add and /remove", () => {
  test("accept ids and e-mail addresses, and repeating changes nothing", async () => {
    const account = await given.account();
    const [ann, bob] = [await given.member(account), await given.member(account)];
    const { group } = await account.post("/groups", { name: "g" });
    const list = `${ann.membershipId},${encodeURIComponent(bob.email)}`;
    for (let time = 0; time < 2; time += 1) {
      expect(await account.put(`/groups/${group.id}/svc_users/${list}/add`, {})).toEqual({ status: "done" });
      expect(await idsOf(account, group.id)).toEqual([ann.membershipId, bob.membershipId]);
    }
    for (let time = 0; time < 2; time += 1) {
      expect(await account.put(`/groups/${group.id}/svc_users/${list}/remove`)).toEqual({ status: "done" });
      expect(await idsOf(account, group.id)).toEqual([]);
    }
  });

  test("are all or nothing: an unknown user, or one of another account, is 404", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const [member, foreign] = [await given.member(account), await given.member(other)];
    const { group } = await account.post("/groups", { name: "g", members: member.email });
    const path = `/groups/${group.id}/svc_users`;
    const refusal = await account.put(`${path}/${member.membershipId},${UNKNOWN}/remove`).refused(404);
    for (const list of [`${foreign.membershipId}`, foreign.email, ",", "nobody", "0", "1.5"]) {
      for (const verb of ["add", "remove"]) {
        const other = await account.put(`${path}/${list}/${verb}`).refused(404);
        expect(withoutId(other, list)).toBe(withoutId(refusal, UNKNOWN));
      }
    }
    expect(await idsOf(account, group.id)).toEqual([member.membershipId]);
    await other.put(`${path}/${foreign.membershipId}/add`).refused(404);
    await other.put(`/groups/${UNKNOWN}/svc_users/${foreign.membershipId}/add`).refused(404);
  });

  test("the permissions of a group apply from the next request on, and end with the membership", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { id } = await account.get("/groups/system-user");
    await member.get("/whitelist_ip").refused(403);
    await account.put(`/groups/${id}/svc_users/${member.membershipId}/add`);
    await member.get("/whitelist_ip");
    await account.put(`/groups/${id}/svc_users/${member.membershipId}/remove`);
    await member.get("/whitelist_ip").refused(403);
  });
});

describe("the last system-admin", () => {
  test("cannot be removed by any operation", async () => {
    const account = await given.account();
    await given.member(account, { groups: ["system-admin"], state: "disabled" });
    const { id } = await account.get("/groups/system-admin");
    await account.put(`/groups/${id}/svc_users/${account.email}/remove`).refused(422, /last active system-admin/);
    await account.put(`/groups/${id}`, { removed_members: account.email }).refused(422, /last active system-admin/);
    await account.get("/groups");
  });

  test("can be removed once there is another", async () => {
    const account = await given.account();
    const next = await given.member(account);
    const { id } = await account.get("/groups/system-admin");
    await account.put(`/groups/${id}`, { members: next.email, removed_members: account.email });
    await account.get("/groups").refused(403);
    expect(await idsOf(next, id)).toEqual([next.membershipId]);
  });

  test("remains when all admins remove each other at the same time", async () => {
    const account = await given.account();
    const { id } = await account.get("/groups/system-admin");
    const admins = [];
    for (let n = 0; n < 4; n += 1) admins.push(await given.member(account, { groups: ["system-admin"] }));
    await account.put(`/groups/${id}/svc_users/${account.email}/remove`, {}).reply();
    const replies = await Promise.all(
      admins.map((admin) => admin.put(`/groups/${id}/svc_users/${admin.membershipId}/remove`).reply()),
    );
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 200, 422]);
  });

  test("remains when one leaves the group while the other is being disabled", async () => {
    for (let time = 0; time < 5; time += 1) {
      const account = await given.account();
      const other = await given.member(account, { groups: ["system-admin"] });
      const { id } = await account.get("/groups/system-admin");
      const replies = await Promise.all([
        account.put(`/groups/${id}/svc_users/${account.email}/remove`).reply(),
        account.post("/accounts/disable_svc_user", { svc_user_id: other.email }).reply(),
      ]);
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    }
  });
});
