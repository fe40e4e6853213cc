import type { Queryable } from "../../db/database.ts";

/**
 * Partitions in the database of a metastore of ours. What is written here is what the metastore itself would write: its
 * tables are fixed by the pinned jar, and a test holds the rows of both against each other.
 *
 * Ids come from the metastore's own `SEQUENCE_TABLE`, in a statement and so a transaction of its own: the metastore,
 * too, takes its blocks of ids apart from the work that they are for, and nobody waits for a batch. Ids that a failed
 * batch took stay unused. All foreign keys are checked at the commit, so the order of the inserts is ours to choose.
 */
export interface FirstIds {
  /** As texts: they are 64 bits wide, and only PostgreSQL counts with them. */
  readonly partition: string;
  readonly storage: string;
  readonly serde: string;
}

export interface TableRows {
  readonly tableId: string;
  readonly storageId: string;
  readonly serdeId: string;
}

/** Place in the batch, from 1: its ids are the first ones and so many more. */
export interface PlacedPartition {
  readonly place: number;
  readonly values: readonly string[];
  readonly location: string;
}

const MODEL = "org.apache.hadoop.hive.metastore.model";

/**
 * Places in the list of names, from 1. Undefined: there is no such table. Each is looked up by its name: the sum keeps
 * PostgreSQL from the index of the tables alone, which looks better to it as long as it has not counted the partitions
 * of a new one.
 */
export async function missingNames(
  metastore: Queryable,
  tableId: string,
  names: readonly string[],
): Promise<ReadonlySet<number> | undefined> {
  const rows = await metastore.query<{ place: number | null }>(
    `select m.place::int as place from "TBLS" t left join lateral (
              select place from unnest($2::text[]) with ordinality as found (name, place)
               where (select true from "PARTITIONS" p
                       where p."PART_NAME" = found.name and p."TBL_ID" + 0 = $1 limit 1) is null) m on true
      where t."TBL_ID" = $1`,
    [tableId, names],
  );
  if (rows.length === 0) return undefined;
  return new Set(rows.flatMap(({ place }) => (place === null ? [] : [place])));
}

/** As many of each kind. A row that is not there yet is made as the metastore would make it. */
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
    if (row === undefined) throw new Error(`no ids of ${kind}`);
    return row.first;
  };
  return { partition: first("MPartition"), storage: first("MStorageDescriptor"), serde: first("MSerDeInfo") };
}

/** Until the transaction ends nobody drops it. Undefined: it is gone. */
export async function holdTable(tx: Queryable, tableId: string): Promise<TableRows | undefined> {
  const [row] = await tx.query<TableRows>(
    `select t."TBL_ID"::text as "tableId", s."SD_ID"::text as "storageId", s."SERDE_ID"::text as "serdeId"
       from "TBLS" t join "SDS" s using ("SD_ID") where t."TBL_ID" = $1 for key share of t`,
    [tableId],
  );
  return row;
}

/**
 * Tells the places of those that were added: for a partition that somebody else adds at this moment it waits, and then
 * leaves it to them. In the order of names, so that two of us never wait for each other.
 */
export async function insertPartitions(
  tx: Queryable,
  { tableId }: TableRows,
  ids: FirstIds,
  names: readonly string[],
): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ place: number }>(
    `insert into "PARTITIONS" ("PART_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "PART_NAME", "SD_ID", "TBL_ID")
     select $1::bigint + place - 1, extract(epoch from now())::int, 0, name, $2::bigint + place - 1, $3
       from unnest($4::text[]) with ordinality as given (name, place) order by name
     on conflict ("PART_NAME", "TBL_ID") do nothing returning ("PART_ID" - $1::bigint + 1)::int as place`,
    [ids.partition, ids.storage, tableId, names],
  );
  return new Set(rows.map(({ place }) => place));
}

/** Those that have these ids: who wrote them before has not heard that they are there. */
export async function placesOfIds(
  tx: Queryable,
  { tableId }: TableRows,
  { partition: firstId }: FirstIds,
  count: number,
): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ place: number }>(
    `select ("PART_ID" - $1::bigint + 1)::int as place from "PARTITIONS"
      where "TBL_ID" = $2 and "PART_ID" between $1::bigint and $1::bigint + $3 - 1`,
    [firstId, tableId, count],
  );
  return new Set(rows.map(({ place }) => place));
}

/** All else that a partition has. Its storage is the table's but for the place. */
export async function insertStorage(
  tx: Queryable,
  table: TableRows,
  ids: FirstIds,
  added: readonly PlacedPartition[],
): Promise<void> {
  const places = added.map(({ place }) => place);
  const locations = added.map(({ location }) => location);
  await tx.query(
    `insert into "SDS" ("SD_ID", "CD_ID", "INPUT_FORMAT", "IS_COMPRESSED", "IS_STOREDASSUBDIRECTORIES", "LOCATION",
                        "NUM_BUCKETS", "OUTPUT_FORMAT", "SERDE_ID")
     select $1::bigint + place - 1, s."CD_ID", s."INPUT_FORMAT", s."IS_COMPRESSED", s."IS_STOREDASSUBDIRECTORIES",
            location, s."NUM_BUCKETS", s."OUTPUT_FORMAT", $2::bigint + place - 1
       from "SDS" s cross join unnest($4::int[], $5::text[]) as given (place, location) where s."SD_ID" = $3`,
    [ids.storage, ids.serde, table.storageId, places, locations],
  );
  for (const copied of COPIED) {
    const of = copied.id === "SD_ID" ? "storage" : "serde";
    const from = of === "storage" ? table.storageId : table.serdeId;
    await tx.query(copyOf(copied), [ids[of], from, places]);
  }
}

export async function insertValues(
  tx: Queryable,
  { partition: firstId }: FirstIds,
  added: readonly PlacedPartition[],
): Promise<void> {
  const all = added.flatMap(({ place, values }) => values.map((value, index) => ({ place, value, index })));
  await tx.query(
    `insert into "PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX")
     select $1::bigint + place - 1, value, index from unnest($2::int[], $3::text[], $4::int[]) as given (place, value, index)`,
    [firstId, all.map(({ place }) => place), all.map(({ value }) => value), all.map(({ index }) => index)],
  );
  await tx.query(
    `insert into "PARTITION_PARAMS" ("PART_ID", "PARAM_KEY", "PARAM_VALUE")
     select $1::bigint + place - 1, 'transient_lastDdlTime', extract(epoch from now())::int::text
       from unnest($2::int[]) as place`,
    [firstId, added.map(({ place }) => place)],
  );
}

interface Copied {
  readonly table: string;
  readonly id: "SD_ID" | "SERDE_ID";
  readonly columns: readonly string[];
}

/** The rows of the table's own storage that each partition has, too. Spark has no skewed tables. */
const COPIED: readonly Copied[] = [
  { table: "SERDES", id: "SERDE_ID", columns: ["NAME", "SLIB"] },
  { table: "SERDE_PARAMS", id: "SERDE_ID", columns: ["PARAM_KEY", "PARAM_VALUE"] },
  { table: "SD_PARAMS", id: "SD_ID", columns: ["PARAM_KEY", "PARAM_VALUE"] },
  { table: "BUCKETING_COLS", id: "SD_ID", columns: ["BUCKET_COL_NAME", "INTEGER_IDX"] },
  { table: "SORT_COLS", id: "SD_ID", columns: ["COLUMN_NAME", "ORDER", "INTEGER_IDX"] },
];

function copyOf({ table, id, columns }: Copied): string {
  const listed = columns.map((column) => `"${column}"`).join(", ");
  return `insert into "${table}" ("${id}", ${listed}) select $1::bigint + place - 1, ${listed}
            from "${table}" cross join unnest($3::int[]) as place where "${id}" = $2`;
}
