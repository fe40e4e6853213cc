import type { Client } from "pg";

/**
 * Copies a table that Spark created, with its columns and parameters but without partitions. It writes directly into
 * the metastore's tables, because creating so many through the metastore would take minutes.
 */
export async function cloneTable(metastore: Client, { schema, table, count }: TableToClone): Promise<void> {
  // Far above the ids that the metastore assigns meanwhile.
  const { rows } = await metastore.query<{ base: string }>(
    `select 1000000 + greatest((select max("TBL_ID") from "TBLS"), (select max("SD_ID") from "SDS"),
                               (select max("CD_ID") from "CDS"), (select max("SERDE_ID") from "SERDES")) as base`,
  );
  const base = Number(rows[0]?.base);
  const source = `"TBLS" t join "DBS" d using ("DB_ID") join "SDS" s using ("SD_ID") join "SERDES" e using ("SERDE_ID"),
    generate_series($3::bigint + 1, $3::bigint + $4) as n where d."NAME" = $1 and t."TBL_NAME" = $2`;
  for (const statement of [
    `insert into "CDS" ("CD_ID") select n from ${source}`,
    `insert into "COLUMNS_V2" ("CD_ID", "COMMENT", "COLUMN_NAME", "TYPE_NAME", "INTEGER_IDX")
     select n, c."COMMENT", c."COLUMN_NAME", c."TYPE_NAME", c."INTEGER_IDX"
       from (select n, s."CD_ID" from ${source}) k join "COLUMNS_V2" c using ("CD_ID")`,
    `insert into "SERDES" ("SERDE_ID", "NAME", "SLIB") select n, e."NAME", e."SLIB" from ${source}`,
    `insert into "SDS" ("SD_ID", "CD_ID", "SERDE_ID", "INPUT_FORMAT", "OUTPUT_FORMAT", "IS_COMPRESSED",
                        "IS_STOREDASSUBDIRECTORIES", "LOCATION", "NUM_BUCKETS")
     select n, n, n, s."INPUT_FORMAT", s."OUTPUT_FORMAT", s."IS_COMPRESSED", s."IS_STOREDASSUBDIRECTORIES",
            s."LOCATION" || '_' || (n - $3), s."NUM_BUCKETS" from ${source}`,
    `insert into "TBLS" ("TBL_ID", "DB_ID", "SD_ID", "TBL_NAME", "TBL_TYPE", "OWNER", "CREATE_TIME", "LAST_ACCESS_TIME",
                         "RETENTION", "IS_REWRITE_ENABLED")
     select n, t."DB_ID", n, t."TBL_NAME" || '_' || (n - $3), t."TBL_TYPE", t."OWNER", t."CREATE_TIME",
            t."LAST_ACCESS_TIME", t."RETENTION", t."IS_REWRITE_ENABLED" from ${source}`,
    `insert into "PARTITION_KEYS" ("TBL_ID", "PKEY_COMMENT", "PKEY_NAME", "PKEY_TYPE", "INTEGER_IDX")
     select n, c."PKEY_COMMENT", c."PKEY_NAME", c."PKEY_TYPE", c."INTEGER_IDX"
       from (select n, t."TBL_ID" from ${source}) k join "PARTITION_KEYS" c using ("TBL_ID")`,
    `insert into "TABLE_PARAMS" ("TBL_ID", "PARAM_KEY", "PARAM_VALUE")
     select n, c."PARAM_KEY", c."PARAM_VALUE"
       from (select n, t."TBL_ID" from ${source}) k join "TABLE_PARAMS" c using ("TBL_ID")`,
  ]) {
    await metastore.query(statement, [schema, table, base, count]);
  }
  await metastore.query("analyze");
}

export interface TableToClone {
  readonly schema: string;
  readonly table: string;
  /** The number of copies, which are named `<table>_1` and so on. */
  readonly count: number;
}
