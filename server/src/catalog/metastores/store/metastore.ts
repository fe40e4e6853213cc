import type { Queryable } from "../../../db/database.ts";
import type { SealedSecrets } from "../metastore-secrets.ts";

/** What is stored of where an account keeps its tables. */
export interface StoredCatalog {
  /** Of a metastore that the account has brought; null: it has ours. */
  readonly externalUri: string | null;
  /** Null: it has never needed one of ours. */
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

/** Of two nodes that come at once the first one's secrets stay. */
export async function insertMetastore(system: Queryable, accountId: number, sealed: SealedSecrets): Promise<void> {
  await system.query(
    `insert into metastore (account_id, password, secret) select id, $2, $3 from account where id = $1
     on conflict (account_id) do nothing`,
    [accountId, sealed.password, sealed.secret],
  );
}

/** Only in place of the one that the caller knew: another node may have been quicker. */
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

/** Which of these accounts are there no more. */
export async function listGone(system: Queryable, accountIds: readonly number[]): Promise<number[]> {
  if (accountIds.length === 0) return [];
  const rows = await system.query<{ id: number }>(
    "select id from unnest($1::bigint[]) as known (id) where not exists (select from account a where a.id = known.id)",
    [accountIds],
  );
  return rows.map(({ id }) => id);
}
