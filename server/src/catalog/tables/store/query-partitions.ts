import type { Queryable } from "../../../db/database.ts";
import type { TableColumn } from "../../../engines/hive-tables/table-columns.ts";

/** Names of which one must exist, or values for some of the partition keys. */
export type PartitionLookup = { readonly names: readonly string[] } | { readonly parts: readonly KeyValues[] };

export interface KeyValues {
  /** Position of the partition key. */
  readonly index: number;
  readonly values: readonly string[];
}

export interface TableLookup {
  readonly schema: string;
  readonly table: string;
  readonly partitions: readonly PartitionLookup[];
}

export interface FoundTable {
  /** Empty: the table is not partitioned. Undefined: there is no such table. */
  readonly keys: readonly TableColumn[] | undefined;
  readonly isMissingSome: boolean;
}

/** The count of partitions with a value stops here: no more precision is needed to find the rarest value. */
const MANY = 1000;

/**
 * Subqueries with a limit, in place of joins, force index lookups and rule out a scan of all partitions. A full name is
 * looked up in the unique index of PARTITIONS (`"TBL_ID" + 0` keeps the planner from the index on TBL_ID, which would
 * read all partitions of the table). Values for some of the keys are looked up in the index that `jvm/metastore` adds
 * to PARTITION_KEY_VALS, which covers all tables. With values for several keys, the most selective key is looked up
 * first and the others are checked on its hits: all partitions may share a `country`, but none has a `day` that is
 * still to come.
 */
const QUERY = `
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
                             and v."INTEGER_IDX" = (rarest.one->>'index')::int
                             and (select true from "PARTITIONS" p
                                   where p."PART_ID" = v."PART_ID" and p."TBL_ID" + 0 = q.id limit 1)
                             and (select true from jsonb_array_elements(asked.one->'parts') as part (one)
                                   where (select true from "PARTITION_KEY_VALS" w
                                           where w."PART_ID" = v."PART_ID"
                                             and w."INTEGER_IDX" = (part.one->>'index')::int
                                             and part.one->'values' ? w."PART_KEY_VAL" limit 1) is null
                                   limit 1) is null
                           limit 1)
                            from (select part.one from jsonb_array_elements(asked.one->'parts') as part (one)
                                   order by case when jsonb_array_length(asked.one->'parts') > 1 then
                                     (select count(*) from (select from "PARTITION_KEY_VALS" c
                                       where c."PART_KEY_VAL" = any (array(select jsonb_array_elements_text(part.one->'values')))
                                         and c."INTEGER_IDX" = (part.one->>'index')::int limit ${MANY}) few) end
                                   limit 1) rarest)
                    end is null) as "isMissingSome"
    from (select each.asked, each.number,
                 (select t."TBL_ID" from "DBS" d join "TBLS" t using ("DB_ID")
                   where d."NAME" = each.asked->>'schema' and t."TBL_NAME" = each.asked->>'table') as id
            from jsonb_array_elements($1::jsonb) with ordinality as each (asked, number) offset 0) q
   order by q.number`;

/** In the order of the lookups. Empty if the metastore has not been created yet. */
export async function queryPartitions(metastore: Queryable, lookups: readonly TableLookup[]): Promise<FoundTable[]> {
  const rows = await metastore.query<{
    keys: [name: string, type: string][];
    isThere: boolean;
    isMissingSome: boolean;
  }>(QUERY, [JSON.stringify(lookups)]);
  return rows.map(({ keys, isThere, isMissingSome }) => ({
    keys: isThere ? keys.map(([name, type]) => ({ name, type, comment: null })) : undefined,
    isMissingSome,
  }));
}
