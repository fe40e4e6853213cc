/**
 * Partitions in the database of a metastore of ours. The rows are those that the metastore itself would write: its
 * tables are fixed by the pinned Hive jar, and a test compares the rows of both.
 *
 * Ids come from the metastore's `SEQUENCE_TABLE`. They are reserved in a transaction of their own, as the metastore
 * does, so that the lock on the sequence is not held during a batch. Ids of a failed batch stay unused. All foreign
 * keys are deferred to the commit, so the inserts may have any order.
 */
import type { Queryable } from "../../db/database.ts";

export interface FirstIds {
  /** Strings, as they have 64 bits; only PostgreSQL calculates with them. */
  readonly partition: string;
  readonly storage: string;
  readonly serde: string;
}

export interface TableRows {
  readonly tableId: string;
  readonly storageId: string;
  readonly serdeId: string;
}

/** The ordinal in the batch, from 1, is the offset of the partition's ids from the first ids. */
export interface NumberedPartition {
  readonly ordinal: number;
  readonly values: readonly string[];
  readonly location: string;
}

const MODEL = "org.apache.hadoop.hive.metastore.model";

/**
 * The ordinals of missing names in the list, from 1. Undefined: there is no such table. `"TBL_ID" + 0` makes PostgreSQL
 * look up each name: without statistics of a new table it would prefer the index on TBL_ID alone.
 */
export async function missingNames(
  metastore: Queryable,
  tableId: string,
  names: readonly string[],
): Promise<ReadonlySet<number> | undefined> {
  const rows = await metastore.query<{ ordinal: number | null }>(
    `select m.ordinal::int as ordinal from "TBLS" t left join lateral (
              select ordinal from unnest($2::text[]) with ordinality as found (name, ordinal)
               where (select true from "PARTITIONS" p
                       where p."PART_NAME" = found.name and p."TBL_ID" + 0 = $1 limit 1) is null) m on true
      where t."TBL_ID" = $1`,
    [tableId, names],
  );
  if (rows.length === 0) return undefined;
  return new Set(rows.flatMap(({ ordinal }) => (ordinal === null ? [] : [ordinal])));
}

/** Reserves `count` ids of each kind. A missing sequence is created as the metastore would create it. */
export async function reserveIds(metastore: Queryable, count: number): Promise<FirstIds> {
  const rows = await metastore.query<{ name: string; first: string }>(
    `insert into "SEQUENCE_TABLE" as s ("SEQUENCE_NAME", "NEXT_VAL") values
       ('${MODEL}.MPartition', coalesce((select max("PART_ID") from "PARTITIONS"), 0) + 1 + $1),
       ('${MODEL}.MSerDeInfo', coalesce((select max("SERDE_ID") from "SERDES"), 0) + 1 + $1),
       ('${MODEL}.MStorageDescriptor', coalesce((select max("SD_ID") from "SDS"), 0) + 1 + $1)
     on conflict ("SEQUENCE_NAME") do update set "NEXT_VAL" = s."NEXT_VAL" + $1
     returning s."SEQUENCE_NAME" as name, (s."NEXT_VAL" - $1)::text as first`,
    [count],
  );
  const first = (kind: string): string => {
    const row = rows.find(({ name }) => name === `${MODEL}.${kind}`);
    if (row === undefined) throw new Error(`no ids reserved for ${kind}`);
    return row.first;
  };
  return { partition: first("MPartition"), storage: first("MStorageDescriptor"), serde: first("MSerDeInfo") };
}

/** Prevents the table from being dropped until the transaction ends. Undefined: it does not exist any more. */
export async function lockTable(tx: Queryable, tableId: string): Promise<TableRows | undefined> {
  const [row] = await tx.query<TableRows>(
    `select t."TBL_ID"::text as "tableId", s."SD_ID"::text as "storageId", s."SERDE_ID"::text as "serdeId"
       from "TBLS" t join "SDS" s using ("SD_ID") where t."TBL_ID" = $1 for key share of t`,
    [tableId],
  );
  return row;
}

/**
 * Returns the ordinals of the partitions that were added. Waits for other transactions that add the same partitions,
 * and skips those that they committed. The order by name prevents deadlocks between two refreshes.
 */
export async function insertPartitions(
  tx: Queryable,
  { tableId }: TableRows,
  ids: FirstIds,
  names: readonly string[],
): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ ordinal: number }>(
    `insert into "PARTITIONS" ("PART_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "PART_NAME", "SD_ID", "TBL_ID")
     select $1::bigint + ordinal - 1, extract(epoch from now())::int, 0, name, $2::bigint + ordinal - 1, $3
       from unnest($4::text[]) with ordinality as given (name, ordinal) order by name
     on conflict ("PART_NAME", "TBL_ID") do nothing returning ("PART_ID" - $1::bigint + 1)::int as ordinal`,
    [ids.partition, ids.storage, tableId, names],
  );
  return new Set(rows.map(({ ordinal }) => ordinal));
}

/** The partitions of an earlier attempt with these ids whose commit succeeded but was not acknowledged. */
export async function ordinalsOfIds(
  tx: Queryable,
  { tableId }: TableRows,
  { partition: firstId }: FirstIds,
  count: number,
): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ ordinal: number }>(
    `select ("PART_ID" - $1::bigint + 1)::int as ordinal from "PARTITIONS"
      where "TBL_ID" = $2 and "PART_ID" between $1::bigint and $1::bigint + $3 - 1`,
    [firstId, tableId, count],
  );
  return new Set(rows.map(({ ordinal }) => ordinal));
}

/** The storage of a partition is a copy of the table's, except for the location. */
export async function insertStorage(
  tx: Queryable,
  table: TableRows,
  ids: FirstIds,
  added: readonly NumberedPartition[],
): Promise<void> {
  const ordinals = added.map(({ ordinal }) => ordinal);
  const locations = added.map(({ location }) => location);
  await tx.query(
    `insert into "SDS" ("SD_ID", "CD_ID", "INPUT_FORMAT", "IS_COMPRESSED", "IS_STOREDASSUBDIRECTORIES", "LOCATION",
                        "NUM_BUCKETS", "OUTPUT_FORMAT", "SERDE_ID")
     select $1::bigint + ordinal - 1, s."CD_ID", s."INPUT_FORMAT", s."IS_COMPRESSED", s."IS_STOREDASSUBDIRECTORIES",
            location, s."NUM_BUCKETS", s."OUTPUT_FORMAT", $2::bigint + ordinal - 1
       from "SDS" s cross join unnest($4::int[], $5::text[]) as given (ordinal, location) where s."SD_ID" = $3`,
    [ids.storage, ids.serde, table.storageId, ordinals, locations],
  );
  for (const copied of COPIED) {
    const of = copied.id === "SD_ID" ? "storage" : "serde";
    const from = of === "storage" ? table.storageId : table.serdeId;
    await tx.query(copyOf(copied), [ids[of], from, ordinals]);
  }
}

export async function insertValues(
  tx: Queryable,
  { partition: firstId }: FirstIds,
  added: readonly NumberedPartition[],
): Promise<void> {
  const all = added.flatMap(({ ordinal, values }) => values.map((value, index) => ({ ordinal, value, index })));
  await tx.query(
    `insert into "PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX")
     select $1::bigint + ordinal - 1, value, index from unnest($2::int[], $3::text[], $4::int[]) as given (ordinal, value, index)`,
    [firstId, all.map(({ ordinal }) => ordinal), all.map(({ value }) => value), all.map(({ index }) => index)],
  );
  await tx.query(
    `insert into "PARTITION_PARAMS" ("PART_ID", "PARAM_KEY", "PARAM_VALUE")
     select $1::bigint + ordinal - 1, 'transient_lastDdlTime', extract(epoch from now())::int::text
       from unnest($2::int[]) as ordinal`,
    [firstId, added.map(({ ordinal }) => ordinal)],
  );
}

interface Copied {
  readonly table: string;
  readonly id: "SD_ID" | "SERDE_ID";
  readonly columns: readonly string[];
}

/** The rows of the table's storage that are copied for each partition. Spark has no skewed tables. */
const COPIED: readonly Copied[] = [
  { table: "SERDES", id: "SERDE_ID", columns: ["NAME", "SLIB"] },
  { table: "SERDE_PARAMS", id: "SERDE_ID", columns: ["PARAM_KEY", "PARAM_VALUE"] },
  { table: "SD_PARAMS", id: "SD_ID", columns: ["PARAM_KEY", "PARAM_VALUE"] },
  { table: "BUCKETING_COLS", id: "SD_ID", columns: ["BUCKET_COL_NAME", "INTEGER_IDX"] },
  { table: "SORT_COLS", id: "SD_ID", columns: ["COLUMN_NAME", "ORDER", "INTEGER_IDX"] },
];

function copyOf({ table, id, columns }: Copied): string {
  const listed = columns.map((column) => `"${column}"`).join(", ");
  return `insert into "${table}" ("${id}", ${listed}) select $1::bigint + ordinal - 1, ${listed}
            from "${table}" cross join unnest($3::int[]) as ordinal where "${id}" = $2`;
}
