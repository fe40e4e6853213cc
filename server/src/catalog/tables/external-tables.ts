import { columnsJson } from "../../engines/hive-tables/columns-json.ts";
import { tableColumns, type HiveColumns, type TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { keepUntil } from "../../engines/hive-thrift/call-gate.ts";
import type { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { HiveError } from "../../engines/hive-thrift/hive-error.ts";
import type { HiveColumn, HiveDatabase, HiveStorage, HiveTable } from "../../engines/hive-thrift/hive-structs.ts";
import { partitionName } from "../../engines/hive-thrift/partition-name.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { Fault } from "../../lib/fault.ts";
import { queryExternalPartitions } from "./query-external-partitions.ts";
import { serverStopping } from "./listing-slots.ts";
import { metastoreFailure } from "./metastore-failure.ts";
import type { PartitionAnswer, PartitionQuestion } from "./partition-question.ts";
import {
  tableLocation,
  type CatalogPartition,
  type CatalogTable,
  type DescribedTable,
  type TableCatalog,
} from "./table-catalog.ts";

/** For one call. A long listing needs several calls. */
const CALL_TIMEOUT_MS = 60_000;
const QUESTION_CONCURRENCY = 4;

/** The tables of an external metastore, read by Thrift. */
export class ExternalTables implements TableCatalog {
  readonly #client: HiveClient;

  constructor(client: HiveClient) {
    this.#client = client;
  }

  async schemaNames(until?: AbortSignal): Promise<string[]> {
    const keep = until === undefined ? undefined : keepUntil(until);
    return (await translateErrors(this.#client.databaseNames(withTimeout(asStopping(until)), keep))).toSorted();
  }

  async tableNames(schema: string, until?: AbortSignal): Promise<string[] | undefined> {
    const keep = until === undefined ? undefined : keepUntil(until);
    const names = await translateErrors(this.#client.tableNames(schema, withTimeout(asStopping(until)), keep));
    if (names.length > 0) return names.toSorted();
    return (await this.#schema(schema)) === undefined ? undefined : [];
  }

  /**
   * A metastore of Hive 2.3 reports every schema as missing while its database is down; listing the names fails then.
   */
  async #schema(name: string): Promise<HiveDatabase | undefined> {
    const found = await undefinedIfMissing(this.#client.database(name, withTimeout()));
    if (found !== undefined || !(await this.schemaNames()).includes(name.toLowerCase())) return found;
    throw new Fault("unavailable", `The metastore lists the schema ${name} but cannot read it. Try again.`);
  }

  async *describe(schema: string, names: readonly string[], until?: AbortSignal): AsyncGenerator<DescribedTable[]> {
    const tables = this.#client.tables(schema, names, withTimeout(asStopping(until), 10 * CALL_TIMEOUT_MS));
    for await (const some of translateStreamErrors(tables)) {
      yield some.map((table) => ({
        name: table.tableName,
        columnsJson: columnsJson(tableColumns(hiveColumns(table))),
      }));
    }
  }

  async table(schema: string, name: string, signal?: AbortSignal): Promise<CatalogTable | undefined> {
    const table = await undefinedIfMissing(this.#client.table(schema, name, withTimeout(signal)));
    if (table === undefined) return undefined;
    const known = hiveColumns(table);
    return {
      schema: table.dbName,
      name: table.tableName,
      identity: tableIdentity(table),
      columns: tableColumns(known),
      partitionKeys: known.partitionKeys,
      parameters: known.parameters,
      kind: table.tableType ?? "MANAGED_TABLE",
      owner: table.owner ?? null,
      createdAt: new Date((table.createTime ?? 0) * 1000),
      location: locationOf(table.sd),
      inputFormat: table.sd?.inputFormat ?? null,
    };
  }

  async *partitions(schema: string, name: string, until?: AbortSignal): AsyncGenerator<CatalogPartition[]> {
    const signal = withTimeout(asStopping(until), 10 * CALL_TIMEOUT_MS);
    const table = await this.table(schema, name, signal);
    const keys = table?.partitionKeys ?? [];
    // A metastore refuses to list the partitions of a table that is not partitioned.
    if (keys.length === 0) return;
    const over = new AbortController();
    const keep = keepUntil(AbortSignal.any([signal, over.signal]));
    try {
      const listing = this.#client.partitionNames(schema, name, { keep }, withTimeout(signal));
      const names = (await undefinedIfMissing(listing)) ?? [];
      const all = this.#client.partitionsByNames(schema, name, names.toSorted(), signal);
      for await (const some of translateStreamErrors(all)) {
        yield some.map(({ values, sd }) => ({ name: partitionName(keys, values), location: sd?.location ?? null }));
      }
    } finally {
      over.abort();
    }
  }

  /** A failure of one question does not affect the others. Each table is looked up once. */
  async hasPartitions(questions: readonly PartitionQuestion[]): Promise<PartitionAnswer[]> {
    const inTurn = limitConcurrency(QUESTION_CONCURRENCY);
    const signal = withTimeout();
    const tables = new Map<string, Promise<CatalogTable | undefined>>();
    const tableOf = ({ schema, table }: PartitionQuestion): Promise<CatalogTable | undefined> => {
      const key = JSON.stringify([schema, table]);
      const found = tables.get(key) ?? this.table(schema, table, signal);
      tables.set(key, found);
      return found;
    };
    const answer = async (question: PartitionQuestion): Promise<PartitionAnswer> => {
      const table = await tableOf(question);
      if (table === undefined) return undefined;
      return undefinedIfMissing(queryExternalPartitions(this.#client, table, question, signal));
    };
    return Promise.all(questions.map((question) => inTurn(() => faultAsValue(answer(question)))));
  }
}

/** Thrift does not report the id of a table. */
export function tableIdentity({ createTime = 0 }: Pick<HiveTable, "createTime">): string {
  return String(createTime);
}

function withTimeout(signal?: AbortSignal, ms = CALL_TIMEOUT_MS): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

/** Aborts with the signal, but with a reason that may be shown to users. */
function asStopping(until: AbortSignal | undefined): AbortSignal | undefined {
  if (until === undefined) return undefined;
  const ended = new AbortController();
  const end = (): void => ended.abort(serverStopping());
  if (until.aborted) end();
  else until.addEventListener("abort", end, { once: true });
  return ended.signal;
}

async function undefinedIfMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof HiveError && error.kind === "no-such-object") return undefined;
    throw metastoreFailure(error);
  }
}

async function translateErrors<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw metastoreFailure(error);
  }
}

async function* translateStreamErrors<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw metastoreFailure(error);
  }
}

async function faultAsValue<T>(answer: Promise<T>): Promise<T | Fault> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function hiveColumns({ sd, partitionKeys = [], parameters = new Map() }: HiveTable): HiveColumns & {
  partitionKeys: TableColumn[];
} {
  return { columns: (sd?.cols ?? []).map(columnOf), partitionKeys: partitionKeys.map(columnOf), parameters };
}

function columnOf({ name, type = "", comment }: HiveColumn): TableColumn {
  return { name, type, comment: comment ?? null };
}

function locationOf(sd: HiveStorage | undefined): string | null {
  const location = sd?.location ?? null;
  return tableLocation(location === "" ? null : location, sd?.serdeInfo?.parameters ?? new Map());
}
