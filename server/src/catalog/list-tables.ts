import { Type } from "typebox";
import type { Caller } from "../access/caller.ts";
import { operation } from "../access/operation.ts";
import { notFound } from "../lib/fault.ts";
import { DescribedTableReply, tableJson } from "./described-table.ts";
import { filterNames } from "./name-filter.ts";
import { READ_TABLES, SchemaParams } from "./table-params.ts";
import { streamedArray } from "./streamed-array.ts";
import type { WithAccountTables } from "./tables/account-tables.ts";
import type { TableCatalog } from "./tables/table-catalog.ts";

interface FoundSchema {
  readonly tables: TableCatalog;
  readonly names: readonly string[];
  readonly signal: AbortSignal;
}

/** §4.8. */
export const listTables = operation({
  id: "hive_tables",
  summary: "List the tables and views of a schema",
  description: "Sorted by name. With `describe`, each has its columns, including the partition columns.",
  tag: "Hive",
  method: "GET",
  paths: { "v1.2": "/hive/:schema" },
  access: { permission: READ_TABLES },
  params: SchemaParams,
  query: Type.Object({
    filter: Type.Optional(
      Type.String({
        maxLength: 512,
        description: "A regular expression in RE2 syntax that matches any part of the name, ignoring case",
      }),
    ),
    describe: Type.Optional(Type.Literal(true, { description: "Adds the columns" })),
  }),
  example: { params: { schema: "default" }, reply: ["customers", "orders"] },
  reply: Type.Union([Type.Array(Type.String()), Type.Array(DescribedTableReply)]),
  find: findSchema,

  async handle({ found: { tables, signal, ...found }, params, query }) {
    const names = query.filter === undefined ? found.names : await filterNames(found.names, query.filter, signal);
    if (query.describe === undefined) return streamedArray([names]);
    return streamedArray(tables.describe(params.schema, names, signal), tableJson);
  },
});

/** Waits for a listing slot before it reads the names, so that waiting requests hold no names in memory. */
async function findSchema(
  { params, caller, endingSignal }: { params: { schema: string }; caller: Caller; endingSignal: () => AbortSignal },
  { accountTables }: WithAccountTables,
): Promise<FoundSchema> {
  const signal = endingSignal();
  await accountTables.listings.take(caller.accountId, signal);
  const tables = await accountTables.of(caller.accountId);
  const names = await tables.tableNames(params.schema, signal);
  if (names === undefined) throw notFound("Schema", params.schema);
  return { tables, names, signal };
}
