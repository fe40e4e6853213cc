import type { AccessNote } from "../http/openapi/operation-entry.ts";
import type { OperationAccess } from "./operation.ts";
import type { PermissionRow } from "./permission.ts";
import { permissionWords } from "./permission-words.ts";
import type { ObjectType } from "./policy/policy.ts";
import { OBJECT_KINDS } from "./policy/unknown-object.ts";

/** The access rules of an operation for the OpenAPI document: as data, and in words with the codes of the permissions. */
export function describeAccess(access: OperationAccess): AccessNote {
  const { permission, alternatives, object, lists } = access;
  const shown =
    typeof permission === "string"
      ? permission
      : {
          ...permission,
          ...(alternatives === undefined ? {} : { alternatives }),
          ...(object === undefined ? {} : { object: { type: object.type, action: object.action } }),
          ...(lists === undefined ? {} : { lists }),
        };
  return {
    permission: shown,
    text: `**Permission:** ${textOf(access)}`,
    needsToken: permission !== "public",
    isHidden: permission === "operator",
  };
}

function textOf({ permission, alternatives = [], object, lists, authorises = [] }: OperationAccess): string {
  switch (permission) {
    case "public":
      return "everyone; no token is needed.";
    case "member":
      return "every active member of the account.";
    case "operator":
      return "operators of the installation; 404 for everyone else.";
    default:
      return [
        callers([permission, ...alternatives]),
        ...(object === undefined ? [] : ["A policy of the object decides before that."]),
        ...(lists === undefined || object !== undefined ? [] : ["Only objects that the caller may read are listed."]),
        ...authorises.map((type) => `The policy of a ${kindOf(type)} that the request uses can refuse it.`),
      ].join(" ");
  }
}

/** With several permissions, the request decides which one is needed. */
function callers(rows: readonly PermissionRow[]): string {
  const wordsOf = ({ role }: PermissionRow): string => `${permissionWords(role)} (\`${role}\`)`;
  const byGroups = [...Map.groupBy(rows, ({ groups }) => listed(groups))];
  if (byGroups.length > 1) {
    const each = byGroups.map(([groups, same]) => `To ${listed(same.map(wordsOf))}: members of ${groups}.`);
    return `depends on the request. ${each.join(" ")} A role can allow any of them.`;
  }
  const depending = rows.length === 1 ? "" : ", depending on the request";
  const [groups] = byGroups.map(([each]) => each);
  return `users who may ${listed(rows.map(wordsOf))}${depending}: members of ${groups}, or of a group with a role that allows it.`;
}

function kindOf(type: ObjectType): string {
  return OBJECT_KINDS[type].toLowerCase();
}

function listed(names: readonly string[]): string {
  return names.length < 3 ? names.join(" or ") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
