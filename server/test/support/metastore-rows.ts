import type { Pool } from "pg";

/** A row of a metastore's internal tables. */
type Row = Record<string, unknown>;
export type MetastoreRows = ReadonlyMap<string, readonly Row[]>;

const CLOCK = new Set(["CREATE_TIME", "LAST_ACCESS_TIME"]);

export async function metastoreRows(pool: Pick<Pool, "query">): Promise<MetastoreRows> {
  const { rows: tables } = await pool.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public' order by 1",
  );
  const all = new Map<string, Row[]>();
  for (const { name } of tables) {
    if (name !== "SEQUENCE_TABLE") all.set(name, (await pool.query<Row>(`select * from "${name}"`)).rows);
  }
  return all;
}

/**
 * The rows that a metastore gained with the partitions of one table, each as a text without ids and times: a partition
 * is shown by its name, and the table and its columns as `T`. Rows of other tables are unchanged.
 */
export function addedRows(before: MetastoreRows, after: MetastoreRows, table: string): string[] {
  const names = new Map<string, unknown>();
  const partitions = after.get("PARTITIONS") ?? [];
  const storages = new Map((after.get("SDS") ?? []).map((row) => [row["SD_ID"], row]));
  const shared = new Set((after.get("TBLS") ?? []).map((row) => storages.get(row["SD_ID"])?.["CD_ID"]));
  for (const partition of partitions) {
    const name = `of ${String(partition["PART_NAME"])}`;
    names.set(`PART_ID ${String(partition["PART_ID"])}`, name);
    names.set(`SD_ID ${String(partition["SD_ID"])}`, name);
    names.set(`SERDE_ID ${String(storages.get(partition["SD_ID"])?.["SERDE_ID"])}`, name);
    const columns = storages.get(partition["SD_ID"])?.["CD_ID"];
    if (!shared.has(columns)) names.set(`CD_ID ${String(columns)}`, name);
  }
  const own = (after.get("TBLS") ?? []).find((row) => row["TBL_NAME"] === table);
  names.set(`TBL_ID ${String(own?.["TBL_ID"])}`, "T");
  names.set(`CD_ID ${String(storages.get(own?.["SD_ID"])?.["CD_ID"])}`, "T");
  const known = new Set([...before].flatMap(([from, rows]) => rows.map((row) => `${from} ${JSON.stringify(row)}`)));
  return [...after]
    .flatMap(([from, rows]) => rows.map((row) => ({ from, row })))
    .filter(({ from, row }) => !known.has(`${from} ${JSON.stringify(row)}`))
    .map(({ from, row }) => `${from} ${JSON.stringify(Object.entries(row).map((cell) => plain(row, cell)))}`)
    .map((text) => text.replaceAll(table, "T"))
    .toSorted();

  function plain(row: Row, [column, value]: [string, unknown]): unknown {
    if (CLOCK.has(column)) return [column, Number(value) > 0];
    if (row["PARAM_KEY"] === "transient_lastDdlTime" && column === "PARAM_VALUE") return [column, Number(value) > 0];
    return [column, names.get(`${column} ${String(value)}`) ?? value];
  }
}

/** Rows that must never be in a metastore: unreferenced rows, and incomplete tables and partitions. */
export async function metastoreFlaws(pool: Pool): Promise<Row> {
  const { rows } = await pool.query<Row>(`
    select
      (select count(*)::int from "SDS" s where not exists (select from "TBLS" t where t."SD_ID" = s."SD_ID")
          and not exists (select from "PARTITIONS" p where p."SD_ID" = s."SD_ID")) as storages,
      (select count(*)::int from "SERDES" s
        where not exists (select from "SDS" d where d."SERDE_ID" = s."SERDE_ID")) as serdes,
      (select count(*)::int from "CDS" c where not exists (select from "SDS" d where d."CD_ID" = c."CD_ID")) as columns,
      (select count(*)::int from "PARTITIONS" p left join "SDS" s using ("SD_ID") left join "SERDES" d using ("SERDE_ID")
        where d."SERDE_ID" is null or s."LOCATION" is null or s."CD_ID" is null
           or not exists (select from "TBLS" t where t."TBL_ID" = p."TBL_ID")
           or not exists (select from "PARTITION_PARAMS" a where a."PART_ID" = p."PART_ID")
           or (select count(*) from "PARTITION_KEY_VALS" v where v."PART_ID" = p."PART_ID")
              <> (select count(*) from "PARTITION_KEYS" k where k."TBL_ID" = p."TBL_ID")) as partitions,
      (select count(*)::int from "TBLS" t left join "SDS" s using ("SD_ID") left join "SERDES" d using ("SERDE_ID")
        where d."SERDE_ID" is null
           or not exists (select from "COLUMNS_V2" c where c."CD_ID" = s."CD_ID")
           or not exists (select from "TABLE_PARAMS" a where a."TBL_ID" = t."TBL_ID")) as tables`);
  return rows[0] ?? {};
}

export const NO_FLAWS = { storages: 0, serdes: 0, columns: 0, partitions: 0, tables: 0 };
