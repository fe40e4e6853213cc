import { Type, type Static } from "typebox";
import type { Queryable, Tx } from "../../db/database.ts";
import { OneOf } from "../../http/schema.ts";
import { invalid } from "../../lib/fault.ts";
import type { AuditNote } from "../operation.ts";
import { SOURCE_ACTIONS, type Policy, type PolicyElement, type PolicyObject } from "./policy.ts";
import { knownSubjects, lockPolicy, readPolicy, replacePolicy, sourceOf, unknownSubjects } from "./store.ts";

/** Setting and viewing the policy of any object, for `object_policy` and for folders. */
export const PolicyText = Type.String({
  maxLength: 262_144,
  description:
    "The JSON text of an array of elements {access, action, condition}; replaces the whole policy. An element without " +
    "condition applies to everyone, and one with access alone to every action",
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

/** Replaces the policy of the object, which the caller has locked. `policy` comes from `parsePolicy`. */
export async function setPolicy(
  tx: Tx,
  audit: AuditNote,
  object: PolicyObject,
  policy: Policy,
): Promise<ShownElement[]> {
  const owner = sourceOf(object);
  if (owner === null) throw new Error("objects of this type have no policy");
  await checkSubjects(tx, policy);
  lockPolicy(tx, owner.source, owner.sourceId);
  const { before } = await replacePolicy(tx, owner.source, owner.sourceId, policy);
  const after = policy.map(shownElement);
  audit.object ??= `${owner.source}/${owner.sourceId}`;
  audit.detail = { before: before.map(shownElement), after };
  return after;
}

/** Without the users and groups that do not exist any more, so that a policy can be sent back as it is shown. */
export async function shownPolicy(reader: Queryable, object: PolicyObject): Promise<ShownElement[]> {
  const owner = sourceOf(object);
  const policy = owner === null ? [] : await readPolicy(reader, owner.source, owner.sourceId);
  const known = await knownSubjects(reader, subjectsOf(policy));
  return policy.flatMap((element) => {
    const { users, groups, ...rest } = element;
    if (users === undefined && groups === undefined) return [shownElement(element)];
    const left = {
      users: (users ?? []).filter((id) => known.users.has(id)),
      groups: (groups ?? []).filter((id) => known.groups.has(id)),
    };
    // Without any id it applies to nobody; shown without a condition it would apply to everyone.
    if (left.users.length === 0 && left.groups.length === 0) return [];
    return [shownElement({ ...rest, ...left })];
  });
}

async function checkSubjects(tx: Tx, policy: Policy): Promise<void> {
  const unknown = await unknownSubjects(tx, subjectsOf(policy));
  const [users, groups] = [new Set(unknown.users), new Set(unknown.groups)];
  for (const [index, element] of policy.entries()) {
    const user = element.users?.find((id) => users.has(id));
    if (user !== undefined) throw unknownSubject(index, "svc_users", `${user} is not the id of a user`);
    const group = element.groups?.find((id) => groups.has(id));
    if (group !== undefined) throw unknownSubject(index, "svc_groups", `${group} is not the id of a group`);
  }
}

function unknownSubject(index: number, list: string, problem: string) {
  return invalid(`policy[${index}].condition.${list}`, `must name users and groups of the account: ${problem}`);
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
