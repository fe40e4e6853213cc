import type { Queryable } from "../../db/database.ts";
import { columnsJson, sparkColumnsJson } from "../../engines/hive-tables/columns-json.ts";
import { tableColumns, type TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { Fault } from "../../lib/fault.ts";
import { readAhead } from "../../lib/read-ahead.ts";
import { queryOwnPartitions, type KnownKeys } from "./query-own-partitions.ts";
import {
  findTable,
  listPartitions,
  listSchemaNames,
  listTableNames,
  readHiveColumns,
  readSchemaParameters,
  type SchemaParameter,
} from "./store/table.ts";
import type { PartitionAnswer, PartitionQuestion } from "./partition-question.ts";
import {
  tableLocation,
  type CatalogPartition,
  type CatalogTable,
  type DescribedTable,
  type TableCatalog,
} from "./table-catalog.ts";

const TABLE_BATCH = 250;
/** The next batch is read while the previous one is written. */
const ANSWER_CONCURRENCY = 2;
const PARTITION_BATCH = 5000;
/** For one batch of tables. Most tables have one or two, those with hundreds of columns a dozen. */
const PARAMETER_BATCH = 2000;
const COLUMN_BATCH = 50_000;

export interface OwnTablesOptions {
  /** The same metastore, for statements that are sent often: they are prepared. */
  readonly lookups?: Queryable;
  readonly knownKeys?: KnownKeys;
  /** The maximum number of schemas, or of tables in one schema, that can be listed. */
  readonly maxNames?: number;
}

const MAX_NAMES = 200_000;

const DEFAULT_SCHEMA = "default";

async function* none<T>(): AsyncGenerator<T> {}

/** The catalog of an account that has never used Spark: only the empty default schema that every metastore has. */
export const NO_TABLES: TableCatalog = {
  schemaNames: () => Promise.resolve([DEFAULT_SCHEMA]),
  tableNames: (schema) => Promise.resolve(schema.toLowerCase() === DEFAULT_SCHEMA ? [] : undefined),
  describe: () => none(),
  table: () => Promise.resolve(undefined),
  partitions: () => none(),
  hasPartitions: (questions) => Promise.resolve(questions.map(() => undefined)),
};

/** The tables of a metastore of ours, read by SQL from its database. */
export class OwnTables implements TableCatalog {
  readonly #metastore: Queryable;
  readonly #lookups: Queryable;
  readonly #knownKeys: KnownKeys;
  readonly #maxNames: number;

  constructor(metastore: Queryable, options: OwnTablesOptions = {}) {
    this.#metastore = metastore;
    this.#lookups = options.lookups ?? metastore;
    this.#knownKeys = options.knownKeys ?? new Map();
    this.#maxNames = options.maxNames ?? MAX_NAMES;
  }

  /** Falls back to the default schema while the metastore has never been started. */
  async schemaNames(): Promise<string[]> {
    const names = await listSchemaNames(this.#metastore, this.#maxNames + 1);
    checkCount(names, this.#maxNames);
    return names.length > 0 ? names : NO_TABLES.schemaNames();
  }

  async tableNames(schema: string): Promise<string[] | undefined> {
    const names = await listTableNames(this.#metastore, schema.toLowerCase(), this.#maxNames + 1);
    if (names !== undefined) checkCount(names, this.#maxNames);
    return names ?? NO_TABLES.tableNames(schema);
  }

  async *describe(schema: string, names: readonly string[]): AsyncGenerator<readonly DescribedTable[]> {
    const inSchema = schema.toLowerCase();
    const pieces = readAhead(names, TABLE_BATCH, ANSWER_CONCURRENCY, async (some) => {
      return { some, described: await this.#describe(inSchema, some) };
    });
    for await (const { some, described } of pieces) {
      if (described === undefined) yield* this.#describeHalves(inSchema, some);
      else yield described;
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

  async *partitions(schema: string, name: string): AsyncGenerator<CatalogPartition[]> {
    const table = { schema: schema.toLowerCase(), name: name.toLowerCase() };
    for (let after = ""; ;) {
      const some = await listPartitions(this.#metastore, table, { after, limit: PARTITION_BATCH });
      yield some;
      const last = some.at(-1);
      if (last === undefined || some.length < PARTITION_BATCH) return;
      after = last.name;
    }
  }

  hasPartitions(questions: readonly PartitionQuestion[]): Promise<PartitionAnswer[]> {
    return queryOwnPartitions(this.#lookups, this.#knownKeys, questions);
  }

  /**
   * Hive's columns are read only for tables without columns stored by Spark. Undefined: these tables have more
   * parameters or columns than one batch may hold. A single table is limited only by the maximum size of a result.
   */
  async #describe(schema: string, names: readonly string[]): Promise<DescribedTable[] | undefined> {
    const rows = await readSchemaParameters(this.#metastore, schema, names, PARAMETER_BATCH + 1);
    if (rows.length > PARAMETER_BATCH && names.length > 1) return undefined;
    const parameters = Map.groupBy(rows, ({ name }) => name);
    const known = Array.from(parameters, ([name, some]) => ({ name, bySpark: sparkColumnsJson(parametersOf(some)) }));
    const others = known.flatMap(({ name, bySpark }) => (bySpark === undefined ? [name] : []));
    const most = names.length > 1 ? COLUMN_BATCH : null;
    const byHive =
      others.length === 0 ? new Map<string, TableColumn[]>() : await this.#hiveColumns(schema, others, most);
    if (byHive === undefined) return undefined;
    return known.map(({ name, bySpark }) => ({ name, columnsJson: bySpark ?? columnsJson(byHive.get(name) ?? []) }));
  }

  /** Yields one half before it reads the other, so that memory stays bounded whatever the tables contain. */
  async *#describeHalves(schema: string, names: readonly string[]): AsyncGenerator<readonly DescribedTable[]> {
    const middle = Math.ceil(names.length / 2);
    for (const half of [names.slice(0, middle), names.slice(middle)]) {
      const described = await this.#describe(schema, half);
      if (described === undefined) yield* this.#describeHalves(schema, half);
      else yield described;
    }
  }

  /** Undefined: there are more than `most`. */
  async #hiveColumns(
    schema: string,
    names: readonly string[],
    most: number | null,
  ): Promise<ReadonlyMap<string, TableColumn[]> | undefined> {
    const rows = await readHiveColumns(this.#metastore, schema, names, most === null ? null : most + 1);
    if (most !== null && rows.length > most) return undefined;
    const byTable = new Map(names.map((name): [string, TableColumn[]] => [name, []]));
    for (const { table, ...column } of rows) byTable.get(table)?.push(column);
    return byTable;
  }
}

function parametersOf(rows: readonly SchemaParameter[]): Map<string, string> {
  return new Map(rows.flatMap(({ key, value }) => (key === null || value === null ? [] : [[key, value]])));
}

function checkCount(names: readonly string[], most: number): void {
  if (names.length > most)
    throw new Fault("invalid", `There are more than ${most} names, which is the maximum that can be listed.`);
}
