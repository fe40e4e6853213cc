import type { AccountClient, Given, MemberClient } from "./given.ts";

/** A user without built-in groups whose only role has one permission, such as `svc_user:create`. */
export async function roleHolder(given: Given, account: AccountClient, permission: string): Promise<MemberClient> {
  const member = await given.member(account);
  const [resource, action] = permission.split(":");
  const name = `${permission} of ${member.membershipId}`;
  await account.post("/roles", { name, policies: JSON.stringify([{ resource, action: [action], access: "allow" }]) });
  await account.post("/groups", { name, members: member.email, roles: name });
  return member;
}
