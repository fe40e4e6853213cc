import type { Queryable } from "../../db/database.ts";
import { tableColumns } from "../../engines/hive-tables/table-columns.ts";
import { describeTables, findTable, listPartitions, listSchemas, listTableNames } from "./store.ts";
import { NO_TABLES } from "./no-tables.ts";
import type { CatalogPartition, CatalogSchema, CatalogTable, DescribedTable, TableCatalog } from "./table-catalog.ts";
import { tableLocation } from "./table-location.ts";

const TABLES_AT_ONCE = 500;
const PARTITIONS_AT_ONCE = 5000;

/** Those of a metastore of ours. */
export class OwnTables implements TableCatalog {
  readonly #metastore: Queryable;

  constructor(metastore: Queryable) {
    this.#metastore = metastore;
  }

  /** Every metastore has one from its first start on. */
  async schemas(): Promise<CatalogSchema[]> {
    const schemas = await listSchemas(this.#metastore);
    return schemas.length > 0 ? schemas : NO_TABLES.schemas();
  }

  async tableNames(schema: string): Promise<string[] | undefined> {
    const names = await listTableNames(this.#metastore, schema.toLowerCase());
    return names ?? NO_TABLES.tableNames(schema);
  }

  async *describe(schema: string, names: readonly string[]): AsyncGenerator<DescribedTable> {
    for (let from = 0; from < names.length; from += TABLES_AT_ONCE) {
      const some = names.slice(from, from + TABLES_AT_ONCE);
      for (const table of await describeTables(this.#metastore, schema.toLowerCase(), some)) {
        yield { name: table.name, columns: tableColumns(table) };
      }
    }
  }

  async table(schema: string, name: string): Promise<CatalogTable | undefined> {
    const found = await findTable(this.#metastore, schema.toLowerCase(), name.toLowerCase());
    if (found === undefined) return undefined;
    const { location, serdeParameters, createdAt, ...known } = found;
    return {
      ...known,
      schema: schema.toLowerCase(),
      columns: tableColumns(found),
      createdAt: new Date(createdAt * 1000),
      location: tableLocation(location, serdeParameters),
    };
  }

  async *partitions(schema: string, name: string): AsyncGenerator<CatalogPartition> {
    const table = { schema: schema.toLowerCase(), name: name.toLowerCase() };
    for (let after = ""; ;) {
      const some = await listPartitions(this.#metastore, table, { after, limit: PARTITIONS_AT_ONCE });
      yield* some;
      const last = some.at(-1);
      if (last === undefined || some.length < PARTITIONS_AT_ONCE) return;
      after = last.name;
    }
  }
}
