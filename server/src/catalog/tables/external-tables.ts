import { tableColumns, type HiveColumns, type TableColumn } from "../../engines/hive-tables/table-columns.ts";
import type { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { HiveError } from "../../engines/hive-thrift/hive-error.ts";
import type { HiveColumn, HiveStorage, HiveTable } from "../../engines/hive-thrift/hive-structs.ts";
import { partitionName } from "../../engines/hive-thrift/partition-name.ts";
import { atOnce } from "../../lib/at-once.ts";
import { askExternalPartitions } from "./ask-external-partitions.ts";
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

  async schemas(): Promise<CatalogSchema[]> {
    const names = await this.#client.databaseNames(patience());
    const schemas = await Promise.all(names.map((name) => there(this.#client.database(name, patience()))));
    const found = schemas.filter((schema) => schema !== undefined);
    return found
      .map(({ name, description, locationUri }) => ({
        name,
        description: description ?? null,
        location: locationUri ?? null,
      }))
      .toSorted(byName);
  }

  async tableNames(schema: string): Promise<string[] | undefined> {
    const names = await this.#client.tableNames(schema, patience());
    if (names.length > 0) return names.toSorted();
    return (await there(this.#client.database(schema, patience()))) === undefined ? undefined : [];
  }

  async *describe(schema: string, names: readonly string[]): AsyncGenerator<DescribedTable> {
    for await (const table of this.#client.tables(schema, names, AbortSignal.timeout(10 * PATIENCE_MS))) {
      yield { name: table.tableName, columns: tableColumns(hiveColumns(table)) };
    }
  }

  async table(schema: string, name: string): Promise<CatalogTable | undefined> {
    const table = await there(this.#client.table(schema, name, patience()));
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

  async *partitions(schema: string, name: string): AsyncGenerator<CatalogPartition> {
    const table = await this.table(schema, name);
    const keys = table?.partitionKeys.map((key) => key.name) ?? [];
    // To a metastore it is a mistake to ask for those of a table that is not partitioned.
    if (keys.length === 0) return;
    const names = await this.#client.partitionNames(schema, name, {}, patience());
    const all = this.#client.partitionsByNames(schema, name, names.toSorted(), AbortSignal.timeout(10 * PATIENCE_MS));
    for await (const { values, sd } of all) {
      const parts = keys.map((column, index) => ({ column, value: values[index] ?? "" }));
      yield { name: partitionName(parts), location: sd?.location ?? null };
    }
  }

  async hasPartitions(questions: readonly PartitionQuestion[]): Promise<PartitionAnswer[]> {
    const inTurn = atOnce(QUESTIONS_AT_ONCE);
    return Promise.all(
      questions.map((question) =>
        inTurn(async () => {
          const table = await this.table(question.schema, question.table);
          return table === undefined ? undefined : askExternalPartitions(this.#client, table, question, patience());
        }),
      ),
    );
  }
}

/** Ids are not told by Thrift. */
export function tableIdentity({ createTime = 0 }: Pick<HiveTable, "createTime">): string {
  return String(createTime);
}

function patience(): AbortSignal {
  return AbortSignal.timeout(PATIENCE_MS);
}

async function there<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof HiveError && error.kind === "no-such-object") return undefined;
    throw error;
  }
}

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1;
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
