import { keyPrefix, type KeyRing } from "../lib/key-ring.ts";
import type { Queryable } from "./database.ts";
import { sealContext, type SealedColumn } from "./sealed-column.ts";

export interface ResealOptions {
  readonly system: Queryable;
  readonly keys: KeyRing;
  readonly columns: readonly SealedColumn[];
  readonly batch?: number;
}

export interface Resealed {
  readonly resealed: number;
  /** Values that others changed or locked during the call. The next call seals those that still have an old key. */
  readonly left: number;
}

interface SealedValue {
  /** The position of its row in the table (ctid). */
  readonly position: string;
  readonly accountId: number;
  readonly sealed: Buffer;
}

const BATCH = 100;
/**
 * For each column and call. The next batches exclude these values by a list of their row positions, which must stay
 * short.
 */
const MAX_SKIPPED = 1000;

/**
 * After a key rotation, re-encrypts the values of old keys with the newest key. It may run on several nodes and next to
 * other writers, and can be interrupted after any statement. It never waits for a row lock and never replaces a value
 * that has changed since it was read. A value that cannot be decrypted is skipped, and reported after all others have
 * been tried.
 */
export async function reseal(
  { system, keys, columns, batch = BATCH }: ResealOptions,
  stopped?: AbortSignal,
): Promise<Resealed> {
  const failures: unknown[] = [];
  let resealed = 0;
  let left = 0;
  for (const column of columns) {
    const skipped: string[] = [];
    let found: number;
    do {
      if (stopped?.aborted === true) return { resealed, left: left + skipped.length };
      const values = await listSealedBefore(system, column, keys.newestId, batch, skipped);
      const replaced = await replaceUnchanged(system, column, sealAgain(values, column, keys, failures));
      skipped.push(...values.flatMap(({ position }) => (replaced.has(position) ? [] : [position])));
      resealed += replaced.size;
      found = values.length;
    } while (found === batch && skipped.length < MAX_SKIPPED);
    left += skipped.length;
  }
  if (failures.length > 0) throw failures[0];
  return { resealed, left };
}

function sealAgain(
  values: readonly SealedValue[],
  column: SealedColumn,
  keys: KeyRing,
  failures: unknown[],
): (SealedValue & { readonly again: Buffer })[] {
  return values.flatMap((value) => {
    const context = sealContext(column, value.accountId);
    try {
      return [{ ...value, again: keys.seal(keys.open(value.sealed, context), context) }];
    } catch (error) {
      failures.push(error);
      return [];
    }
  });
}

/** How many values of the columns are sealed with older keys than `keyId`. */
export async function countSealedBefore(
  system: Queryable,
  columns: readonly SealedColumn[],
  keyId: number,
): Promise<number> {
  const counts = columns.map(({ table, column }) => `select count(*) from ${table} where ${keyPrefixOf(column)} < $1`);
  const [row] = await system.query<{ count: number }>(
    `select sum(count)::bigint as count from (${counts.join(" union all ")}) counts`,
    [keyPrefix(keyId)],
  );
  return row?.count ?? 0;
}

/** Must be the same expression as in the indexes. Key ids increase and are big-endian, so older keys sort first. */
function keyPrefixOf(column: string): string {
  return `substring(${column} from 1 for 4)`;
}

/** Sorted by the key's id: without that, PostgreSQL expects many matches and reads the table rather than the index. */
function listSealedBefore(
  system: Queryable,
  { table, column, accountColumn }: SealedColumn,
  keyId: number,
  limit: number,
  exceptPositions: readonly string[],
): Promise<SealedValue[]> {
  return system.query(
    `select ctid::text as position, ${accountColumn} as "accountId", ${column} as sealed from ${table}
      where ${keyPrefixOf(column)} < $1 and ctid <> all($3::tid[]) order by ${keyPrefixOf(column)} limit $2`,
    [keyPrefix(keyId), limit, exceptPositions],
  );
}

/** Returns the row positions of the values that it replaced. */
async function replaceUnchanged(
  system: Queryable,
  { table, column }: SealedColumn,
  values: readonly (SealedValue & { readonly again: Buffer })[],
): Promise<Set<string>> {
  if (values.length === 0) return new Set();
  const rows = await system.query<{ position: string }>(
    `with free as (
       select t.ctid, n.again from unnest($1::tid[], $2::bytea[], $3::bytea[]) n (position, sealed, again)
         join ${table} t on t.ctid = n.position and t.${column} = n.sealed
          for no key update of t skip locked)
     update ${table} t set ${column} = free.again from free where t.ctid = free.ctid returning free.ctid::text as position`,
    [values.map(({ position }) => position), values.map(({ sealed }) => sealed), values.map(({ again }) => again)],
  );
  return new Set(rows.map(({ position }) => position));
}
