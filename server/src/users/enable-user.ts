import { setMemberState } from "../access/members/store.ts";
import { operation } from "../access/operation.ts";
import { parseReference } from "../access/reference.ts";
import { notFound } from "../lib/fault.ts";
import { findTarget } from "./store/members.ts";
import { UserStatusBody, UserStatusReply } from "./user-status.ts";

/** §4.12 Enable a user: enables a disabled user and approves a pending one; an active user is not changed. */
export const enableUser = operation({
  id: "user_enable",
  summary: "Enable a user",
  tag: "Users",
  method: "POST",
  paths: { "v1.2": "/accounts/enable_svc_user" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "svc_user:update" } },
  body: UserStatusBody,
  example: { body: { svc_user_id: "ada@example.com" } },
  reply: UserStatusReply,

  async handle({ body, change }) {
    return change(async (tx, audit) => {
      const target = await findTarget(tx, parseReference(body.svc_user_id.trim()));
      if (target === undefined) throw notFound("User", body.svc_user_id);
      await setMemberState(tx, target.id, "active");
      audit.object = `membership/${target.id}`;
      return { status: "success" as const, id: target.id, email: target.email };
    });
  },
});
