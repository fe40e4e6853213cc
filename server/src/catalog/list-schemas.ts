import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import {
  DEFAULT_PER_PAGE,
  MAX_PER_PAGE,
  pageOf,
  PageQuery,
  PagingInfo,
  pagingInfo,
  shownRows,
} from "../http/paging.ts";
import { MAX_INTEGER } from "../http/schema.ts";
import { DescribedTableReply, tableJson } from "./described-table.ts";
import { arrayText, joinedPieces, streamedArray, streamedJson } from "./streamed-array.ts";
import { READ_TABLES } from "./table-params.ts";
import type { WithAccountTables } from "./tables/account-tables.ts";
import type { TableCatalog } from "./tables/table-catalog.ts";

export const listSchemas = operation({
  id: "hive_schemas",
  summary: "List the schemas of the account's metastore",
  description:
    "Returns all names. With `describe=true`, returns a page of schemas with their tables, and the columns of each.",
  tag: "Hive",
  method: "GET",
  paths: { "v1.2": "/hive" },
  access: { permission: READ_TABLES },
  query: Type.Object({
    page: PageQuery.page,
    // Clients of the original interface ask for 10,000.
    per_page: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_INTEGER,
        default: DEFAULT_PER_PAGE,
        description: `Schemas per page; a number above ${MAX_PER_PAGE} is read as ${MAX_PER_PAGE}`,
        examples: [DEFAULT_PER_PAGE],
      }),
    ),
    describe: Type.Optional(Type.Boolean({ default: false, description: "Adds the tables and their columns" })),
  }),
  reply: Type.Union([
    Type.Array(Type.String()),
    Type.Object({
      paging_info: PagingInfo,
      schemas: Type.Record(Type.String(), Type.Array(DescribedTableReply), { description: "Keyed by name" }),
    }),
  ]),

  async handle({ query, caller, endingSignal }, { accountTables }: WithAccountTables) {
    const signal = endingSignal();
    if (query.describe === true) await accountTables.listings.take(caller.accountId, signal);
    const tables = await accountTables.of(caller.accountId);
    const names = await tables.schemaNames(signal);
    if (query.describe !== true) return streamedArray([names]);
    const { per_page: perPage = DEFAULT_PER_PAGE } = query;
    const page = pageOf({ ...query, per_page: Math.min(perPage, MAX_PER_PAGE) });
    const some = names.slice(page.offset, page.offset + page.limit);
    const paging = JSON.stringify(pagingInfo(page, some));
    return streamedJson(joinedPieces(schemasText(paging, tables, shownRows(page, some), signal)));
  },
});

/** One schema after the other, so that the names of only one are in memory. A schema dropped meanwhile is left out. */
async function* schemasText(
  paging: string,
  tables: TableCatalog,
  names: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<string> {
  yield `{"paging_info":${paging},"schemas":{`;
  let comma = "";
  for (const schema of names) {
    const read = new AbortController();
    const until = AbortSignal.any([signal, read.signal]);
    try {
      const tableNames = await tables.tableNames(schema, until);
      if (tableNames === undefined) continue;
      yield `${comma}${JSON.stringify(schema)}:`;
      yield* arrayText(tables.describe(schema, tableNames, until), tableJson);
      comma = ",";
    } finally {
      read.abort();
    }
  }
  yield "}}";
}
