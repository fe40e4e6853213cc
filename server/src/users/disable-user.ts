import { hasActiveAdmin, lockAdmins, setMemberState } from "../access/members/store.ts";
import { operation } from "../access/operation.ts";
import { parseReference } from "../access/reference.ts";
import { notFound, invalid } from "../lib/fault.ts";
import { mayActOn } from "./may-act-on.ts";
import { findTarget } from "./store/members.ts";
import { UserStatusBody, UserStatusReply } from "./user-status.ts";

/** The opposite of §4.12 Enable: every token of the user in this account is refused until the user is enabled. */
export const disableUser = operation({
  id: "user_disable",
  summary: "Disable a user",
  tag: "Users",
  method: "POST",
  paths: { "v1.2": "/accounts/disable_svc_user" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "svc_user:update" } },
  body: UserStatusBody,
  example: { body: { svc_user_id: "ada@example.com" } },
  reply: UserStatusReply,

  async handle({ body, caller, change, deny }) {
    return change(async (tx, audit) => {
      lockAdmins(tx, caller.accountId);
      const target = await findTarget(tx, parseReference(body.svc_user_id.trim()));
      if (target === undefined) throw notFound("User", body.svc_user_id);
      if (target.id === caller.membershipId) throw invalid("svc_user_id", "must not be yourself");
      await setMemberState(tx, target.id, "disabled");
      if (target.is_admin && target.state === "active" && !(await hasActiveAdmin(tx))) {
        throw invalid("svc_user_id", "must not be the last active system-admin of the account");
      }
      if (!mayActOn(caller, target)) {
        throw deny("Only a system-admin may disable a system-admin, and only an operator may disable an operator.");
      }
      audit.object = `membership/${target.id}`;
      return { status: "success" as const, id: target.id, email: target.email };
    });
  },
});
