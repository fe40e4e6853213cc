import { Type } from "typebox";
import type { Caller } from "../access/caller.ts";
import { notFound } from "../lib/fault.ts";
import type { WithAccountTables } from "./tables/account-tables.ts";
import type { CatalogTable } from "./tables/table-catalog.ts";

export const READ_TABLES = { groups: ["system-admin"], role: "object_storage:read" } as const;

/** Hive's names have at most so many characters. */
export const Name = (description: string) => Type.String({ minLength: 1, maxLength: 256, description });

export const SchemaParams = Type.Object({ schema: Name("Schema; its case does not matter") });
export const TableParams = Type.Object({
  schema: Name("Schema; its case does not matter"),
  table: Name("Table or view; its case does not matter"),
});

/** 404 before anything else of the request is judged. */
export async function findTableInPath(
  { params, caller }: { params: { schema: string; table: string }; caller: Caller },
  { accountTables }: WithAccountTables,
): Promise<CatalogTable> {
  const tables = await accountTables.of(caller.accountId);
  const table = await tables.table(params.schema, params.table);
  if (table === undefined) throw notFound();
  return table;
}
