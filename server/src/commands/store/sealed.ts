import type { Queryable } from "../../db/database.ts";

/** A sealed value starts with the id of its key, big-endian. Few commands have any, and those have an index. */
const NOT_UNDER = "secrets is not null and substring(secrets from 1 for 4) <> $1";

export async function listSecretsNotUnder(
  system: Queryable,
  keyId: number,
  limit: number,
): Promise<{ id: number; accountId: number; secrets: Buffer }[]> {
  return system.query(`select id, account_id as "accountId", secrets from command where ${NOT_UNDER} limit $2`, [
    prefixOf(keyId),
    limit,
  ]);
}

export async function countSecretsNotUnder(system: Queryable, keyId: number): Promise<number> {
  const [row] = await system.query<{ count: number }>(`select count(*) as count from command where ${NOT_UNDER}`, [
    prefixOf(keyId),
  ]);
  return row?.count ?? 0;
}

/**
 * Skips rows whose secrets have changed since they were read: the task that masks stored copies writes them as well.
 */
export async function replaceSecrets(
  system: Queryable,
  sealed: readonly { id: number; before: Buffer; secrets: Buffer }[],
): Promise<void> {
  await system.query(
    `update command c set secrets = n.secrets
       from unnest($1::bigint[], $2::bytea[], $3::bytea[]) n (id, before, secrets)
      where c.id = n.id and c.secrets = n.before`,
    [sealed.map(({ id }) => id), sealed.map(({ before }) => before), sealed.map(({ secrets }) => secrets)],
  );
}

function prefixOf(keyId: number): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(keyId);
  return prefix;
}
