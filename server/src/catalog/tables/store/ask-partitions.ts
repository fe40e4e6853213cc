import type { Queryable } from "../../../db/database.ts";
import type { TableColumn } from "../../../engines/hive-tables/table-columns.ts";

/** Names of which one has to be there, or values for some of the columns, by the column's place. */
export type AskedPartition = { readonly names: readonly string[] } | { readonly parts: readonly AskedPart[] };

export interface AskedPart {
  readonly place: number;
  readonly values: readonly string[];
}

export interface AskedTable {
  readonly schema: string;
  readonly table: string;
  readonly partitions: readonly AskedPartition[];
}

export interface FoundTable {
  /** None of a table that is not partitioned. Undefined: there is no such table. */
  readonly keys: readonly TableColumn[] | undefined;
  readonly isMissingSome: boolean;
}

/** Of partitions with a value: so many are as good as all when the rarest is looked for. */
const MANY = 1000;

/**
 * Subqueries with a limit, where joins would do, are looked up one by one and can be no scan of all partitions: a full
 * name in the unique index of PARTITIONS (the sum keeps it from the index of the tables, all of whose partitions it would
 * read); values for some of the columns in the index that `jvm/metastore` adds to
 * PARTITION_KEY_VALS, whose hits are those of all tables. Of several columns the one leads whose values the fewest
 * partitions have, and only those are read for the others: `country` has a value that all share, a `day` that is not
 * there yet none.
 */
const ASK = `
  select (select coalesce(json_agg(json_build_array(k."PKEY_NAME"::text, k."PKEY_TYPE"::text) order by k."INTEGER_IDX"), '[]')
            from "PARTITION_KEYS" k where k."TBL_ID" = q.id) as keys,
         q.id is not null as "isThere",
         exists (select from jsonb_array_elements(q.asked->'partitions') as asked (one)
                  where case when asked.one ? 'names'
                    then (select true from jsonb_array_elements_text(asked.one->'names') as each (name)
                           where (select true from "PARTITIONS" p
                                   where p."PART_NAME" = each.name and p."TBL_ID" + 0 = q.id limit 1) limit 1)
                    else (select (select true from "PARTITION_KEY_VALS" v
                           where v."PART_KEY_VAL" = any (array(select jsonb_array_elements_text(rarest.one->'values')))
                             and v."INTEGER_IDX" = (rarest.one->>'place')::int
                             and (select true from "PARTITIONS" p
                                   where p."PART_ID" = v."PART_ID" and p."TBL_ID" + 0 = q.id limit 1)
                             and (select true from jsonb_array_elements(asked.one->'parts') as part (one)
                                   where (select true from "PARTITION_KEY_VALS" w
                                           where w."PART_ID" = v."PART_ID"
                                             and w."INTEGER_IDX" = (part.one->>'place')::int
                                             and part.one->'values' ? w."PART_KEY_VAL" limit 1) is null
                                   limit 1) is null
                           limit 1)
                            from (select part.one from jsonb_array_elements(asked.one->'parts') as part (one)
                                   order by case when jsonb_array_length(asked.one->'parts') > 1 then
                                     (select count(*) from (select from "PARTITION_KEY_VALS" c
                                       where c."PART_KEY_VAL" = any (array(select jsonb_array_elements_text(part.one->'values')))
                                         and c."INTEGER_IDX" = (part.one->>'place')::int limit ${MANY}) few) end
                                   limit 1) rarest)
                    end is null) as "isMissingSome"
    from (select each.asked, each.number,
                 (select t."TBL_ID" from "DBS" d join "TBLS" t using ("DB_ID")
                   where d."NAME" = each.asked->>'schema' and t."TBL_NAME" = each.asked->>'table') as id
            from jsonb_array_elements($1::jsonb) with ordinality as each (asked, number) offset 0) q
   order by q.number`;

/** In the order of the questions; nothing at all of a metastore that is not made yet. */
export async function askPartitions(metastore: Queryable, asked: readonly AskedTable[]): Promise<FoundTable[]> {
  const rows = await metastore.query<{
    keys: [name: string, type: string][];
    isThere: boolean;
    isMissingSome: boolean;
  }>(ASK, [JSON.stringify(asked)]);
  return rows.map(({ keys, isThere, isMissingSome }) => ({
    keys: isThere ? keys.map(([name, type]) => ({ name, type, comment: null })) : undefined,
    isMissingSome,
  }));
}
