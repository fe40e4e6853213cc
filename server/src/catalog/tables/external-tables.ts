import { columnsJson } from "../../engines/hive-tables/columns-json.ts";
import { tableColumns, type HiveColumns, type TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { keepUntil } from "../../engines/hive-thrift/call-gate.ts";
import type { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { HiveError } from "../../engines/hive-thrift/hive-error.ts";
import type { HiveColumn, HiveDatabase, HiveStorage, HiveTable } from "../../engines/hive-thrift/hive-structs.ts";
import { partitionName } from "../../engines/hive-thrift/partition-name.ts";
import { atOnce } from "../../lib/at-once.ts";
import { Fault } from "../../lib/fault.ts";
import { askExternalPartitions } from "./ask-external-partitions.ts";
import { stopping } from "./listing-places.ts";
import { metastoreFailure } from "./metastore-failure.ts";
import type { PartitionAnswer, PartitionQuestion } from "./partition-question.ts";
import type { CatalogPartition, CatalogSchema, CatalogTable, DescribedTable, TableCatalog } from "./table-catalog.ts";
import { tableLocation } from "./table-location.ts";

/** Of one call; long answers come in pieces. */
const PATIENCE_MS = 60_000;
const QUESTIONS_AT_ONCE = 4;

/** Those of a metastore that the account has brought, by Thrift. */
export class ExternalTables implements TableCatalog {
  readonly #client: HiveClient;

  constructor(client: HiveClient) {
    this.#client = client;
  }

  async schemaNames(until?: AbortSignal): Promise<string[]> {
    const keep = until === undefined ? undefined : keepUntil(until);
    return (await told(this.#client.databaseNames(patience(ending(until)), keep))).toSorted();
  }

  async schemas(names: readonly string[]): Promise<CatalogSchema[]> {
    const schemas = await Promise.all(names.map((name) => this.#schema(name)));
    const found = schemas.filter((schema) => schema !== undefined);
    return found.map(({ name, description, locationUri }) => ({
      name,
      description: description ?? null,
      location: locationUri ?? null,
    }));
  }

  async tableNames(schema: string, until?: AbortSignal): Promise<string[] | undefined> {
    const keep = until === undefined ? undefined : keepUntil(until);
    const names = await told(this.#client.tableNames(schema, patience(ending(until)), keep));
    if (names.length > 0) return names.toSorted();
    return (await this.#schema(schema)) === undefined ? undefined : [];
  }

  /** Metastores of Hive 2.3 deny every schema while their database is away. To list the names fails then. */
  async #schema(name: string): Promise<HiveDatabase | undefined> {
    const found = await there(this.#client.database(name, patience()));
    if (found !== undefined || !(await this.schemaNames()).includes(name.toLowerCase())) return found;
    throw new Fault("unavailable", `The metastore lists the schema ${name} and says that it is not there. Try again.`);
  }

  async *describe(schema: string, names: readonly string[], until?: AbortSignal): AsyncGenerator<DescribedTable[]> {
    const tables = this.#client.tables(schema, names, patience(ending(until), 10 * PATIENCE_MS));
    for await (const some of eachTold(tables)) {
      yield some.map((table) => ({
        name: table.tableName,
        columnsJson: columnsJson(tableColumns(hiveColumns(table))),
      }));
    }
  }

  async table(schema: string, name: string, signal?: AbortSignal): Promise<CatalogTable | undefined> {
    const table = await there(this.#client.table(schema, name, patience(signal)));
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
    const signal = patience(ending(until), 10 * PATIENCE_MS);
    const table = await this.table(schema, name, signal);
    const keys = table?.partitionKeys ?? [];
    // To a metastore it is a mistake to ask for those of a table that is not partitioned.
    if (keys.length === 0) return;
    const over = new AbortController();
    const keep = keepUntil(AbortSignal.any([signal, over.signal]));
    try {
      const names = (await there(this.#client.partitionNames(schema, name, { keep }, patience(signal)))) ?? [];
      const all = this.#client.partitionsByNames(schema, name, names.toSorted(), signal);
      for await (const some of eachTold(all)) {
        yield some.map(({ values, sd }) => ({ name: partitionName(keys, values), location: sd?.location ?? null }));
      }
    } finally {
      over.abort();
    }
  }

  /** What the metastore says of one question is that one's answer; each table is looked up once. */
  async hasPartitions(questions: readonly PartitionQuestion[]): Promise<PartitionAnswer[]> {
    const inTurn = atOnce(QUESTIONS_AT_ONCE);
    const signal = patience();
    const tables = new Map<string, Promise<CatalogTable | undefined>>();
    const tableOf = ({ schema, table }: PartitionQuestion): Promise<CatalogTable | undefined> => {
      const key = JSON.stringify([schema, table]);
      const asked = tables.get(key) ?? this.table(schema, table, signal);
      tables.set(key, asked);
      return asked;
    };
    const answer = async (question: PartitionQuestion): Promise<PartitionAnswer> => {
      const table = await tableOf(question);
      return table === undefined ? undefined : there(askExternalPartitions(this.#client, table, question, signal));
    };
    return Promise.all(questions.map((question) => inTurn(() => orFault(answer(question)))));
  }
}

/** Ids are not told by Thrift. */
export function tableIdentity({ createTime = 0 }: Pick<HiveTable, "createTime">): string {
  return String(createTime);
}

function patience(signal?: AbortSignal, ms = PATIENCE_MS): AbortSignal {
  const late = AbortSignal.timeout(ms);
  return signal === undefined ? late : AbortSignal.any([signal, late]);
}

/** The same moment, with a reason that may be shown: the client has gone, or the server is about to stop. */
function ending(until: AbortSignal | undefined): AbortSignal | undefined {
  if (until === undefined) return undefined;
  const ended = new AbortController();
  const end = (): void => ended.abort(stopping());
  if (until.aborted) end();
  else until.addEventListener("abort", end, { once: true });
  return ended.signal;
}

async function there<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof HiveError && error.kind === "no-such-object") return undefined;
    throw metastoreFailure(error);
  }
}

async function told<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw metastoreFailure(error);
  }
}

async function* eachTold<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw metastoreFailure(error);
  }
}

async function orFault<T>(asked: Promise<T>): Promise<T | Fault> {
  try {
    return await asked;
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
