import { ICEBERG_CATALOG, TABLE_FORMATS, type TableFormat } from "../engines/table-formats/table-format.ts";
import { isOwnedByFormats } from "../engines/table-formats/format-properties.ts";
import { checkServerSettings } from "../engines/spark-submit/submit-rules.ts";
import { invalid } from "../lib/fault.ts";
import type { SparkConfig } from "../engines/spark-submit/spark-config.ts";
import type { ClusterEngine } from "./engine.ts";

/** In one order, whatever the order in the request: another one would mean another Spark server. */
export function parseTableFormats(given: readonly string[]): TableFormat[] {
  const unknown = given.find((name) => !TABLE_FORMATS.some((format) => format === name));
  if (unknown !== undefined) {
    throw invalid("table_formats", `has an unknown format; the known ones are ${TABLE_FORMATS.join(" and ")}`);
  }
  return TABLE_FORMATS.filter((format) => given.includes(format));
}

/** Whether the metastore of the account has a schema of this name. */
export type HasSchema = (accountId: number, schema: string) => Promise<boolean>;

/** Throws if a catalog of the formats would hide a schema. It may call an external metastore, so no transaction waits. */
export async function checkCatalogNames(
  formats: readonly string[] | undefined,
  accountId: number,
  hasSchema: HasSchema,
): Promise<void> {
  if (formats?.includes("iceberg") !== true || !(await hasSchema(accountId, ICEBERG_CATALOG))) return;
  throw invalid(
    "table_formats",
    `must not have iceberg while the account has a schema ${ICEBERG_CATALOG}, which the catalog of that name would hide`,
  );
}

interface FormatsAndMore {
  readonly tableFormats: readonly TableFormat[];
  readonly engine: ClusterEngine;
  readonly sparkConfig: SparkConfig;
}

/** Throws if the formats do not fit the other settings. */
export function checkTableFormats({ tableFormats, engine, sparkConfig }: FormatsAndMore): void {
  if (tableFormats.length === 0) return;
  if (engine.type === "connect") {
    throw invalid(
      "table_formats",
      "must be empty with an engine of the type connect, whose server has its own formats",
    );
  }
  const owned = Object.keys(sparkConfig).find(isOwnedByFormats);
  if (owned !== undefined) {
    throw invalid("spark_config", `may not set ${owned} on a cluster with table_formats: the server sets it`);
  }
  checkServerSettings(sparkConfig, "spark_config", isOwnedByFormats);
}
