import type { Tx } from "../../db/database.ts";
import { BUILT_IN_ROLES } from "../built-in-roles.ts";
import { BUILT_IN_GROUPS, type BuiltInGroup } from "../permission.ts";

/** The built-in groups of a new account, each with the role of its name. */
export async function insertBuiltInGroups(tx: Tx, accountId: number): Promise<Map<BuiltInGroup, number>> {
  const rows = await tx.query<{ name: BuiltInGroup; id: number }>(
    `with built_in as (select * from unnest($2::text[], $3::text[]) as b (name, policy)),
          new_group as (insert into access_group (account_id, name, source)
                        select $1, name, 'system' from built_in returning id, name),
          new_role as (insert into access_role (account_id, name, source, policy)
                       select $1, name, 'system', policy from built_in returning id, name),
          link as (insert into access_group_role (account_id, group_id, role_id)
                   select $1, g.id, r.id from new_group g join new_role r using (name))
     select name, id from new_group`,
    [accountId, [...BUILT_IN_GROUPS], BUILT_IN_GROUPS.map((name) => JSON.stringify(BUILT_IN_ROLES[name]))],
  );
  return new Map(rows.map(({ name, id }) => [name, id]));
}
