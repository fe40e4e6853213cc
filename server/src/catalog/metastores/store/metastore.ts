import type { Client } from "pg";
import type { Queryable } from "../../../db/database.ts";

/** `password`: of the metastore's role in PostgreSQL. `secret`: authenticates Spark and the metastore to each other. */
export type MetastoreSecret = "password" | "secret";

export type SealedSecrets = Readonly<Record<MetastoreSecret, Buffer>>;

export interface StoredCatalog {
  /** The address of the account's external metastore; null: it uses ours. */
  readonly externalUri: string | null;
  /** Null: it has never used ours. */
  readonly sealed: SealedSecrets | null;
}

interface CatalogRow {
  externalUri: string | null;
  password: Buffer | null;
  secret: Buffer | null;
}

/** Undefined: there is no such account. */
export async function findCatalog(system: Queryable, accountId: number): Promise<StoredCatalog | undefined> {
  const [row] = await system.query<CatalogRow>(
    `select a.metastore_uri as "externalUri", m.password, m.secret
       from account a left join metastore m on m.account_id = a.id where a.id = $1`,
    [accountId],
  );
  if (row === undefined) return undefined;
  const { externalUri, password, secret } = row;
  return { externalUri, sealed: password === null || secret === null ? null : { password, secret } };
}

/** If two nodes insert at the same time, the secrets of the first one stay. */
export async function insertMetastore(system: Queryable, accountId: number, sealed: SealedSecrets): Promise<void> {
  await system.query(
    `insert into metastore (account_id, password, secret) select id, $2, $3 from account where id = $1
     on conflict (account_id) do nothing`,
    [accountId, sealed.password, sealed.secret],
  );
}

/** Only if the secret is still the known one: another node may have replaced it already. */
export async function replaceSecret(
  system: Queryable,
  accountId: number,
  known: SealedSecrets,
  secret: Buffer,
): Promise<void> {
  await system.query("update metastore set secret = $3 where account_id = $1 and secret = $2", [
    accountId,
    known.secret,
    secret,
  ]);
}

export async function listDeleted(system: Queryable, accountIds: readonly number[]): Promise<number[]> {
  if (accountIds.length === 0) return [];
  const rows = await system.query<{ id: number }>(
    "select id from unnest($1::bigint[]) as known (id) where not exists (select from account a where a.id = known.id)",
    [accountIds],
  );
  return rows.map(({ id }) => id);
}

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
