import type { References } from "../../access/reference.ts";
import type { Tx } from "../../db/database.ts";

export interface GroupRow {
  id: number;
  name: string;
  /** The policies of the group's roles. */
  policies: string[] | null;
}

export async function findGroups(tx: Tx, accountId: number, { ids, names }: References): Promise<GroupRow[]> {
  return tx.query(
    `select g.id, g.name,
            (select array_agg(r.policy) from access_group_role gr join access_role r on r.id = gr.role_id
              where gr.group_id = g.id) as policies
       from access_group g where g.account_id = $1 and (g.id = any ($2) or g.name = any ($3)) order by g.id`,
    [accountId, ids, names],
  );
}
