import { Type } from "typebox";
import { notFound } from "../../lib/fault.ts";
import { GRANT_REFUSAL, mayRevoke } from "../grant-rules.ts";
import { operation } from "../operation.ts";
import { parsedPolicy } from "../permission.ts";
import { listRolesOfGroup } from "../roles/store.ts";
import { checkGroupDelete } from "./group-rules.ts";
import { GroupIdParam, groupNamedInPath } from "./group.ts";
import { deleteGroup as removeGroup, lockGroup } from "./store.ts";

/** Its members stay in the account and lose the permissions of the group's roles. */
export const deleteGroup = operation({
  id: "group_delete",
  summary: "Delete a group",
  tag: "Groups",
  method: "DELETE",
  paths: { "v1.2": "/groups/:group_id" },
  access: { permission: { groups: ["system-admin"], role: "group:delete" } },
  params: GroupIdParam,
  reply: Type.Object({ status: Type.Literal("success") }),
  find: groupNamedInPath,

  async handle({ params, caller, change, deny }) {
    return change(async (tx, audit) => {
      const group = await lockGroup(tx, params.group_id);
      if (group === undefined) throw notFound("Group", params.group_id);
      checkGroupDelete(group);
      const roles = await listRolesOfGroup(tx, group.id);
      if (!roles.every(({ policy }) => mayRevoke(caller, parsedPolicy(policy)))) throw deny(GRANT_REFUSAL);
      await removeGroup(tx, group.id);
      audit.object = `group/${group.id}`;
      return { status: "success" as const };
    });
  },
});
