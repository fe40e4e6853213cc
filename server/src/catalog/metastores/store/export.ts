import type { Client } from "pg";

/** Uses the connection of an export or import, to see its transaction. */
export async function listMetastores(product: Client): Promise<number[]> {
  const { rows } = await product.query<{ id: string }>("select account_id as id from metastore order by account_id");
  return rows.map(({ id }) => Number(id));
}

/** Sealed. Undefined: the account has no metastore. */
export async function readPassword(product: Client, accountId: number): Promise<Buffer | undefined> {
  const { rows } = await product.query<{ password: Buffer }>("select password from metastore where account_id = $1", [
    accountId,
  ]);
  return rows[0]?.password;
}
