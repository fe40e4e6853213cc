import type { AccountClient, Given, MemberClient } from "./given.ts";

/** An account whose members have different rights. */
export interface Team {
  admin: AccountClient;
  /** A member of `system-user`. */
  user: MemberClient;
  /** A member without any permission. */
  outsider: MemberClient;
  /** Of a group without members. */
  groupId: number;
}

export async function givenTeam(given: Pick<Given, "account" | "member">): Promise<Team> {
  const admin = await given.account();
  const { group } = await admin.post("/groups", { name: "team" });
  const user = await given.member(admin, { groups: ["system-user"] });
  const outsider = await given.member(admin);
  return { admin, user, outsider, groupId: group.id };
}
