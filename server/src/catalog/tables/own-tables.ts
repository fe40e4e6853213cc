import type { Queryable } from "../../db/database.ts";
import { sparkColumns, tableColumns, type TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { readAhead } from "../../lib/read-ahead.ts";
import { askOwnPartitions, type KnownKeys } from "./ask-own-partitions.ts";
import {
  findTable,
  listPartitions,
  listSchemas,
  listTableNames,
  readHiveColumns,
  readSchemaParameters,
  type SchemaParameter,
} from "./store.ts";
import { NO_TABLES } from "./no-tables.ts";
import type { PartitionAnswer, PartitionQuestion } from "./partition-question.ts";
import type { CatalogPartition, CatalogSchema, CatalogTable, DescribedTable, TableCatalog } from "./table-catalog.ts";
import { tableLocation } from "./table-location.ts";

const TABLES_AT_ONCE = 250;
/** The next are read while the last are written. */
const ANSWERS_AT_ONCE = 2;
const PARTITIONS_AT_ONCE = 5000;

export interface OwnTablesOptions {
  /** The same metastore, for statements that are sent often. */
  readonly lookups?: Queryable;
  readonly knownKeys?: KnownKeys;
}

/** Those of a metastore of ours. */
export class OwnTables implements TableCatalog {
  readonly #metastore: Queryable;
  readonly #lookups: Queryable;
  readonly #knownKeys: KnownKeys;

  constructor(metastore: Queryable, { lookups = metastore, knownKeys = new Map() }: OwnTablesOptions = {}) {
    this.#metastore = metastore;
    this.#lookups = lookups;
    this.#knownKeys = knownKeys;
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

  describe(schema: string, names: readonly string[]): AsyncGenerator<DescribedTable> {
    return readAhead(names, TABLES_AT_ONCE, ANSWERS_AT_ONCE, (some) => this.#describe(schema.toLowerCase(), some));
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

  hasPartitions(questions: readonly PartitionQuestion[]): Promise<PartitionAnswer[]> {
    return askOwnPartitions(this.#lookups, this.#knownKeys, questions);
  }

  /** Hive's own columns are read of those tables alone of which Spark has not left the true ones. */
  async #describe(schema: string, names: readonly string[]): Promise<DescribedTable[]> {
    const parameters = Map.groupBy(await readSchemaParameters(this.#metastore, schema, names), ({ name }) => name);
    const known = Array.from(parameters, ([name, some]) => ({ name, columns: sparkColumns(parametersOf(some)) }));
    const others = known.flatMap(({ name, columns }) => (columns === undefined ? [name] : []));
    const byHive = others.length === 0 ? undefined : await this.#hiveColumns(schema, others);
    return known.map(({ name, columns }) => ({ name, columns: columns ?? byHive?.get(name) ?? [] }));
  }

  async #hiveColumns(schema: string, names: readonly string[]): Promise<Map<string, TableColumn[]>> {
    const byTable = new Map(names.map((name): [string, TableColumn[]] => [name, []]));
    for (const { table, ...column } of await readHiveColumns(this.#metastore, schema, names)) {
      byTable.get(table)?.push(column);
    }
    return byTable;
  }
}

function parametersOf(rows: readonly SchemaParameter[]): Map<string, string> {
  return new Map(rows.flatMap(({ key, value }) => (key === null ? [] : [[key, value]])));
}
