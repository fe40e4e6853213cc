import { Type } from "typebox";
import { notFound } from "../../lib/fault.ts";
import { GRANT_REFUSAL, mayGrant } from "../grant-rules.ts";
import { operation } from "../operation.ts";
import { parsedPolicy } from "../permission.ts";
import { listRolesOfGroup } from "../roles/store.ts";
import { checkUniqueName, UniqueName } from "../reference.ts";
import { checkGroupCount, groupNameTaken } from "./group-rules.ts";
import { GroupIdParam, GroupReply, groupReply, groupNamedInPath } from "./group.ts";
import { copyGroup, countGroups, lockGroup } from "./store.ts";

/** Creates a custom group with the same roles and members; for `everyone`, with the current active members. */
export const duplicateGroup = operation({
  id: "group_duplicate",
  summary: "Duplicate a group",
  tag: "Groups",
  method: "POST",
  paths: { "v1.2": "/groups/:group_id/duplicate" },
  access: { permission: { groups: ["system-admin"], role: "group:create" } },
  params: GroupIdParam,
  body: Type.Object({ name: UniqueName }),
  example: { body: { name: "more-analysts" } },
  reply: GroupReply,
  find: groupNamedInPath,

  async handle({ params, body, caller, deny, change }) {
    const name = checkUniqueName(body.name);
    return change(async (tx, audit) => {
      const original = await lockGroup(tx, params.group_id);
      if (original === undefined) throw notFound("Group", params.group_id);
      const roles = await listRolesOfGroup(tx, original.id);
      if (!roles.every(({ policy }) => mayGrant(caller, parsedPolicy(policy)))) {
        throw deny(GRANT_REFUSAL);
      }
      const copy = await copyGroup(tx, original.id, name);
      if (copy === undefined) throw groupNameTaken(name);
      checkGroupCount(await countGroups(tx));
      audit.object = `group/${copy.id}`;
      return groupReply(copy);
    });
  },
});
