import { Type } from "typebox";
import type { Caller } from "../access/caller.ts";
import { notFound } from "../lib/fault.ts";
import type { WithAccountTables } from "./tables/account-tables.ts";
import type { CatalogTable } from "./tables/table-catalog.ts";

export const READ_TABLES = { groups: ["system-admin"], role: "object_storage:read" } as const;

/** The limit is Hive's. */
export const Name = (description: string) => Type.String({ minLength: 1, maxLength: 256, description });

export const SchemaParams = Type.Object({ schema: Name("Schema, case-insensitive") });
export const TableParams = Type.Object({
  schema: Name("Schema, case-insensitive"),
  table: Name("Table or view, case-insensitive"),
});

/** Replies 404 before the rest of the request is validated. */
export async function findTableInPath(
  { params, caller }: { params: { schema: string; table: string }; caller: Caller },
  { accountTables }: WithAccountTables,
): Promise<CatalogTable> {
  const tables = await accountTables.of(caller.accountId);
  const table = await tables.table(params.schema, params.table);
  if (table === undefined) throw notFound("Table", `${params.schema}.${params.table}`);
  return table;
}
