/** The simplest query for whether a table has a partition of that name. */
export const LOOKUP = `select from "DBS" d join "TBLS" t using ("DB_ID") join "PARTITIONS" p using ("TBL_ID")
  where d."NAME" = $1 and t."TBL_NAME" = $2 and p."PART_NAME" = $3`;
