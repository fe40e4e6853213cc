import type { Queryable, Tx } from "../../db/database.ts";
import type { Feature } from "../../lib/features.ts";

/** Statements for operators, over all accounts. */
export interface ListedAccount {
  id: number;
  name: string;
  plan: string;
  parentId: number | null;
  features: Feature[];
  members: number;
  createdAt: Date;
}

export async function listAccounts(
  system: Queryable,
  page: { limit: number; offset: number },
): Promise<ListedAccount[]> {
  return system.query(
    `select a.id, a.name, a.plan, a.parent_id as "parentId", a.features, a.created_at as "createdAt",
            (select count(*) from membership m where m.account_id = a.id) as members
       from account a order by a.id limit $1 offset $2`,
    [page.limit, page.offset],
  );
}

/** False if there is no such account. */
export async function updateRole(
  tx: Tx,
  accountId: number,
  roleArn: string | null,
  externalId: string | null,
): Promise<boolean> {
  const rows = await tx.query(
    "update account set role_arn = $2, external_id = $3, updated_at = now() where id = $1 returning id",
    [accountId, roleArn, externalId],
  );
  return rows.length > 0;
}

/** The account of the operators. It is never deleted, so it has the lowest id. */
export async function firstAccountId(system: Queryable): Promise<number | undefined> {
  const [row] = await system.query<{ id: number | null }>("select min(id) as id from account");
  return row?.id ?? undefined;
}

/** Deletes the account with everything in it. False if there is no such account. */
export async function deleteAccountRow(tx: Tx, accountId: number): Promise<boolean> {
  const rows = await tx.query("delete from account where id = $1 returning id", [accountId]);
  return rows.length > 0;
}
