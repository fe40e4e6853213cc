import type { CatalogSchema, TableCatalog } from "./table-catalog.ts";

const DEFAULT_SCHEMA = "default";
const SCHEMA: CatalogSchema = { name: DEFAULT_SCHEMA, description: "Default Hive database", location: null };

async function* none<T>(): AsyncGenerator<T> {}

/** The catalog of an account that has never used Spark: only the empty default schema that every metastore has. */
export const NO_TABLES: TableCatalog = {
  schemaNames: () => Promise.resolve([DEFAULT_SCHEMA]),
  schemas: (names) => Promise.resolve(names.includes(DEFAULT_SCHEMA) ? [SCHEMA] : []),
  tableNames: (schema) => Promise.resolve(schema.toLowerCase() === DEFAULT_SCHEMA ? [] : undefined),
  describe: () => none(),
  table: () => Promise.resolve(undefined),
  partitions: () => none(),
  hasPartitions: (questions) => Promise.resolve(questions.map(() => undefined)),
};
