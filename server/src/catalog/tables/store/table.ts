import type { Queryable } from "../../../db/database.ts";
import type { TableColumn } from "../../../engines/hive-tables/table-columns.ts";
import type { CatalogPartition } from "../table-catalog.ts";

/**
 * The length of names in Hive's schema. An account can replace the tables of its metastore, so the statements enforce
 * lengths and cast to text: the driver would return other types than expected. Values without a limit here are bounded
 * by the size of the whole answer (`limit-result-size.ts`).
 */
const LONGEST_NAME = 256;

/**
 * Reads the tables of a metastore's database by SQL, which is 40 to 100 times as fast as through the metastore. Their
 * schema is fixed by the pinned Hive jar. Names in it are in lower case.
 */
export async function listSchemaNames(metastore: Queryable, most: number): Promise<string[]> {
  const rows = await metastore.query<{ name: string }>(
    `select left("NAME"::text, ${LONGEST_NAME}) as name from "DBS" order by 1 limit $1`,
    [most],
  );
  return rows.map(({ name }) => name);
}

/** One row with a null name means an empty schema, no row a missing one. */
export async function listTableNames(
  metastore: Queryable,
  schema: string,
  most: number,
): Promise<string[] | undefined> {
  const rows = await metastore.query<{ name: string | null }>(
    `select left(t."TBL_NAME"::text, ${LONGEST_NAME}) as name from "DBS" d left join "TBLS" t using ("DB_ID") where d."NAME" = $1 order by 1 limit $2`,
    [schema, most],
  );
  if (rows.length === 0) return undefined;
  return rows.flatMap(({ name }) => (name === null ? [] : [name]));
}

type ColumnTuple = [name: string, type: string, comment: string | null];

export interface SchemaParameter {
  readonly name: string;
  /** Null: the table has none. */
  readonly key: string | null;
  /** Null: too long to have been written by Spark. */
  readonly value: string | null;
}

/** Spark splits the columns of a table into parameters of 4,000 characters. */
const LONGEST_PARAMETER_BYTES = 32 * 1024;

/**
 * The parameters in which Spark stores the columns of these tables: a row for each parameter, and at least one for each
 * existing table. Aggregating them in the database would take five times as long. The names must be in the database's
 * order, not JavaScript's: the range from the first to the last lets it use the index, where it would otherwise scan
 * all tables for each batch of a listing.
 */
export function readSchemaParameters(
  metastore: Queryable,
  schema: string,
  names: readonly string[],
  most: number,
): Promise<SchemaParameter[]> {
  return metastore.query<SchemaParameter>(
    `select left(t."TBL_NAME"::text, ${LONGEST_NAME}) as name, left(p."PARAM_KEY"::text, ${LONGEST_NAME}) as key,
            case when octet_length(p."PARAM_VALUE"::text) <= ${LONGEST_PARAMETER_BYTES}
                 then p."PARAM_VALUE"::text end as value
       from "DBS" d join "TBLS" t using ("DB_ID") left join "TABLE_PARAMS" p
            on p."TBL_ID" = t."TBL_ID" and p."PARAM_KEY" like 'spark.sql.sources.schema%'
           and p."PARAM_KEY" not like 'spark.sql.sources.schema.%Col%'
      where d."NAME" = $1 and t."TBL_NAME" = any ($2) and t."TBL_NAME" between $3 and $4
      order by t."TBL_NAME" limit $5`,
    [schema, names, names[0], names.at(-1), most],
  );
}

export interface TablesColumn extends TableColumn {
  readonly table: string;
}

/** Hive's columns of these tables, in order, each table's partition keys after its other columns. */
export function readHiveColumns(
  metastore: Queryable,
  schema: string,
  names: readonly string[],
  most: number | null,
): Promise<TablesColumn[]> {
  return metastore.query<TablesColumn>(
    `select t."TBL_NAME"::text as table, c.name::text, c.type::text, c.comment::text
       from "DBS" d join "TBLS" t using ("DB_ID") left join "SDS" s on s."SD_ID" = t."SD_ID" cross join lateral (
              select 0 as part, v."INTEGER_IDX" as ordinal, v."COLUMN_NAME" as name, v."TYPE_NAME" as type,
                     v."COMMENT" as comment
                from "COLUMNS_V2" v where v."CD_ID" = s."CD_ID"
              union all
              select 1, k."INTEGER_IDX", k."PKEY_NAME", k."PKEY_TYPE", k."PKEY_COMMENT"
                from "PARTITION_KEYS" k where k."TBL_ID" = t."TBL_ID") c
      where d."NAME" = $1 and t."TBL_NAME" = any ($2) and t."TBL_NAME" between $3 and $4
      order by t."TBL_NAME", c.part, c.ordinal limit $5`,
    [schema, names, names[0], names.at(-1), most],
  );
}

export interface OwnTable {
  /** The table's `TBL_ID`. */
  readonly identity: string;
  readonly name: string;
  readonly columns: TableColumn[];
  readonly partitionKeys: TableColumn[];
  readonly parameters: ReadonlyMap<string, string>;
  readonly kind: string;
  readonly owner: string | null;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly location: string | null;
  readonly inputFormat: string | null;
  readonly serdeParameters: ReadonlyMap<string, string>;
}

type Gathered = "columns" | "partitionKeys" | "parameters" | "serdeParameters";

interface TableRow extends Omit<OwnTable, Gathered> {
  readonly columns: ColumnTuple[] | null;
  readonly partitionKeys: ColumnTuple[] | null;
  readonly parameters: Record<string, string> | null;
  readonly serdeParameters: Record<string, string> | null;
}

export async function findTable(metastore: Queryable, schema: string, name: string): Promise<OwnTable | undefined> {
  const [row] = await metastore.query<TableRow>(
    `select t."TBL_ID"::text as identity, t."TBL_NAME"::text as name, t."TBL_TYPE"::text as kind,
            t."OWNER"::text as owner,
            t."CREATE_TIME" as "createdAt", s."LOCATION"::text as location, s."INPUT_FORMAT"::text as "inputFormat",
            (select json_agg(json_build_array(c."COLUMN_NAME"::text, c."TYPE_NAME"::text, c."COMMENT"::text)
                             order by c."INTEGER_IDX")
               from "COLUMNS_V2" c where c."CD_ID" = s."CD_ID") as columns,
            (select json_agg(json_build_array(k."PKEY_NAME"::text, k."PKEY_TYPE"::text, k."PKEY_COMMENT"::text)
                             order by k."INTEGER_IDX")
               from "PARTITION_KEYS" k where k."TBL_ID" = t."TBL_ID") as "partitionKeys",
            (select json_object_agg(p."PARAM_KEY"::text, p."PARAM_VALUE"::text) from "TABLE_PARAMS" p
              where p."TBL_ID" = t."TBL_ID") as parameters,
            (select json_object_agg(p."PARAM_KEY"::text, p."PARAM_VALUE"::text) from "SERDE_PARAMS" p
              where p."SERDE_ID" = s."SERDE_ID") as "serdeParameters"
       from "DBS" d join "TBLS" t using ("DB_ID") left join "SDS" s on s."SD_ID" = t."SD_ID"
      where d."NAME" = $1 and t."TBL_NAME" = $2`,
    [schema, name],
  );
  if (row === undefined) return undefined;
  return {
    ...row,
    columns: (row.columns ?? []).map(columnOf),
    partitionKeys: (row.partitionKeys ?? []).map(columnOf),
    parameters: mapOf(row.parameters),
    serdeParameters: mapOf(row.serdeParameters),
  };
}

/** Sorted by name, starting after the name `after`. */
export function listPartitions(
  metastore: Queryable,
  table: { readonly schema: string; readonly name: string },
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<CatalogPartition[]> {
  return metastore.query<CatalogPartition>(
    `select p."PART_NAME"::text as name, s."LOCATION"::text as location
       from "PARTITIONS" p left join "SDS" s on s."SD_ID" = p."SD_ID"
      where p."TBL_ID" = (select t."TBL_ID" from "DBS" d join "TBLS" t using ("DB_ID")
                           where d."NAME" = $1 and t."TBL_NAME" = $2)
        and p."PART_NAME" > $3
      order by p."PART_NAME" limit $4`,
    [table.schema, table.name, after, limit],
  );
}

function columnOf([name, type, comment]: ColumnTuple): TableColumn {
  return { name, type, comment };
}

function mapOf(parameters: Record<string, string> | null): ReadonlyMap<string, string> {
  return new Map(Object.entries(parameters ?? {}));
}
