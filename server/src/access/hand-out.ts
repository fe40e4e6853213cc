import { isPermitted, type RolePermission, type RoleStatement, type Standing } from "./permission.ts";

/**
 * The guard against helping oneself to more. §5 lets more than admins assign roles and edit groups; without a limit
 * anybody of them could become an admin. So nobody hands out power over groups, roles or users that they do not have:
 * not by a role's policy, not by assigning a role, not by adding members to a group that has such a role, and not by
 * lifting a deny that holds such power back.
 * System-admins may hand out anything, and only they change the group `system-admin`.
 */
const POWERS: readonly RolePermission[] = [
  "group:create",
  "group:update",
  "group:delete",
  "role:create",
  "role:update",
  "role:delete",
  "svc_user:create",
  "svc_user:update",
];

/** What a caller reads who tries. */
export const BEYOND_CALLER =
  "You may not do this: it would grant power over groups, roles or users that you do not have yourself.";

export function mayHandOut(caller: Standing, statements: readonly RoleStatement[]): boolean {
  if (caller.groups.has("system-admin")) return true;
  return POWERS.every((power) => !grants(statements, power) || grants(caller.statements, power));
}

/** Whether the caller may take these statements away from wherever they hold; `instead` is what takes their place. */
export function mayLift(
  caller: Standing,
  statements: readonly RoleStatement[],
  instead: readonly RoleStatement[] = [],
): boolean {
  if (caller.groups.has("system-admin")) return true;
  return POWERS.every(
    (power) => !denies(statements, power) || denies(instead, power) || grants(caller.statements, power),
  );
}

function denies(statements: readonly RoleStatement[], power: RolePermission): boolean {
  return !grants([...statements, { resource: "all", action: ["all"], access: "allow" }], power);
}

function grants(statements: readonly RoleStatement[], power: RolePermission): boolean {
  return isPermitted({ groups: [], role: power }, { groups: new Set(), statements });
}
