import type { BenchNode } from "../commands/bench-node.ts";

/** An account of its own, with an admin and a member of system-user. */
export interface BenchAccount {
  readonly accountId: number;
  readonly admin: Caller;
  readonly member: Caller & { readonly membershipId: number };
}

/** Calls the API with one token. */
export interface Caller {
  call<Reply>(method: string, path: string, body?: object): Promise<Reply>;
}

export async function newAccount(node: BenchNode, name: string): Promise<BenchAccount> {
  const founder = callerAt(node.url, node.account.token);
  const { account_id: accountId, authentication_token: token } = await founder.call<{
    account_id: number;
    authentication_token: string;
  }>("POST", "/api/v2/accounts", { account: { name } });
  const admin = callerAt(node.url, token);
  const { id, authentication_token: memberToken } = await admin.call<{ id: number; authentication_token: string }>(
    "POST",
    "/api/v1.2/users/invite_new",
    { invitee_email: `${name}@example.test`, user_type: "service", groups: "system-user" },
  );
  return { accountId, admin, member: { ...callerAt(node.url, memberToken), membershipId: id } };
}

function callerAt(url: string, token: string): Caller {
  return {
    async call<Reply>(method: string, path: string, body?: object): Promise<Reply> {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { "X-AUTH-TOKEN": token, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as Reply; // the caller knows the type of the reply
    },
  };
}
