import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { Nullable } from "../http/schema.ts";
import { READ_TABLES } from "./table-params.ts";
import { streamedArray } from "./streamed-array.ts";
import type { WithAccountTables } from "./tables/account-tables.ts";

const Schema = Type.Object({
  name: Type.String(),
  description: Nullable(Type.String()),
  location: Nullable(Type.String()),
});

export const listSchemas = operation({
  id: "hive_schemas",
  summary: "List the schemas of the account's metastore",
  description: "Returns all names. With `describe`, returns a page of schemas with their description and location.",
  tag: "Hive",
  method: "GET",
  paths: { "v1.2": "/hive" },
  access: { permission: READ_TABLES },
  query: Type.Object({ ...PageQuery, describe: Type.Optional(Type.Boolean({ default: false })) }),
  reply: Type.Union([Type.Array(Type.String()), Type.Object({ paging_info: PagingInfo, schemas: Type.Array(Schema) })]),

  async handle({ query, caller, endingSignal }, { accountTables }: WithAccountTables) {
    const tables = await accountTables.of(caller.accountId);
    const names = await tables.schemaNames(endingSignal());
    if (query.describe !== true) return streamedArray([names]);
    const page = pageOf(query);
    const some = names.slice(page.offset, page.offset + page.limit);
    const schemas = await tables.schemas([...shownRows(page, some)]);
    return { paging_info: pagingInfo(page, some), schemas };
  },
});
