import { Type, type Static } from "typebox";
import type { Queryable, Tx } from "../../db/database.ts";
import { ArrayOrText, OneOf } from "../../http/schema.ts";
import { invalid } from "../../lib/fault.ts";
import type { AuditNote } from "../operation.ts";
import { SOURCE_ACTIONS, type Policy, type PolicyElement, type PolicyObject } from "./policy.ts";
import { knownSubjects, lockPolicy, readPolicy, replacePolicy, ownPolicyKey, unknownSubjects } from "./store.ts";

export const PolicyInput = ArrayOrText({
  maxLength: 262_144,
  description:
    "An array of elements {access, action, condition}, or its JSON text. It replaces the whole policy. An element " +
    "without condition applies to everyone; one with access alone applies to everyone and every action",
  examples: ['[{"access":"allow","action":["read"]}]'],
});

const ACTIONS = [...new Set<string>(Object.values(SOURCE_ACTIONS).flat()), "all"];

export const PolicyElementReply = Type.Object(
  {
    access: OneOf(["allow", "deny"]),
    action: Type.Optional(Type.Array(OneOf(ACTIONS))),
    condition: Type.Optional(
      Type.Object({
        svc_users: Type.Optional(Type.Array(Type.Integer())),
        svc_groups: Type.Optional(Type.Array(Type.Integer())),
      }),
    ),
  },
  { title: "PolicyElement" },
);

type ShownElement = Static<typeof PolicyElementReply>;

/** Replaces the policy of an object, and describes the change in `audit`. The object must be locked before. */
export async function setPolicy(
  tx: Tx,
  audit: AuditNote,
  object: PolicyObject,
  policy: Policy,
): Promise<ShownElement[]> {
  const key = ownPolicyKey(object);
  if (key === null) throw new Error("objects of this type have no policy");
  await checkSubjects(tx, policy);
  lockPolicy(tx, key.source, key.sourceId);
  const { before } = await replacePolicy(tx, key.source, key.sourceId, policy);
  const after = policy.map(shownElement);
  audit.object ??= `${key.source}/${key.sourceId}`;
  audit.detail = { before: before.map(shownElement), after };
  return after;
}

/** Leaves out users and groups that do not exist any more, so that a policy can be sent back as it is shown. */
export async function shownPolicy(reader: Queryable, object: PolicyObject): Promise<ShownElement[]> {
  const key = ownPolicyKey(object);
  const policy = key === null ? [] : await readPolicy(reader, key.source, key.sourceId);
  const known = await knownSubjects(reader, subjectsOf(policy));
  return policy.flatMap((element) => {
    const { users, groups, ...rest } = element;
    if (users === undefined && groups === undefined) return [shownElement(element)];
    const left = {
      users: (users ?? []).filter((id) => known.users.has(id)),
      groups: (groups ?? []).filter((id) => known.groups.has(id)),
    };
    // All its users and groups are deleted. Shown without a condition, the element would mean everyone.
    if (left.users.length === 0 && left.groups.length === 0) return [];
    return [shownElement({ ...rest, ...left })];
  });
}

async function checkSubjects(tx: Tx, policy: Policy): Promise<void> {
  const unknown = await unknownSubjects(tx, subjectsOf(policy));
  const [users, groups] = [new Set(unknown.users), new Set(unknown.groups)];
  for (const [index, element] of policy.entries()) {
    const user = element.users?.find((id) => users.has(id));
    if (user !== undefined) {
      throw invalid(
        `policy[${index}].condition.svc_users`,
        `must contain only ids of users of the account, as get_users shows them: there is no user ${user}`,
      );
    }
    const group = element.groups?.find((id) => groups.has(id));
    if (group !== undefined) {
      throw invalid(
        `policy[${index}].condition.svc_groups`,
        `must contain only ids of groups of the account: there is no group ${group}`,
      );
    }
  }
}

function subjectsOf(policy: Policy): { users: number[]; groups: number[] } {
  return {
    users: [...new Set(policy.flatMap(({ users = [] }) => users))],
    groups: [...new Set(policy.flatMap(({ groups = [] }) => groups))],
  };
}

function shownElement({ access, action, users = [], groups = [] }: PolicyElement): ShownElement {
  const condition = {
    ...(users.length > 0 ? { svc_users: [...users] } : {}),
    ...(groups.length > 0 ? { svc_groups: [...groups] } : {}),
  };
  return {
    access,
    ...(action === undefined ? {} : { action: [...action] }),
    ...(Object.keys(condition).length === 0 ? {} : { condition }),
  };
}
