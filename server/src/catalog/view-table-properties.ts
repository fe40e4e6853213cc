import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Nullable, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { findTableInPath, READ_TABLES, TableParams } from "./table-params.ts";

export const viewTableProperties = operation({
  id: "hive_table_properties",
  summary: "Read the properties of a table or view",
  tag: "Hive",
  method: "GET",
  paths: { "v1.2": "/hive/:schema/:table/table_properties" },
  aliases: { "v1.2": ["/hive/:schema/:table/properties"] },
  access: { permission: READ_TABLES },
  params: TableParams,
  example: {
    params: { schema: "default" },
    reply: {
      table_type: "MANAGED_TABLE",
      owner: "headgate",
      created_at: "2026-01-31T08:30:00Z",
      location: "s3a://bucket/warehouse/orders",
      input_format: "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
      partition_columns: [{ name: "dt", type: "string" }],
      parameters: { "spark.sql.sources.provider": "parquet" },
    },
  },
  reply: Type.Object({
    table_type: Type.String({ description: "MANAGED_TABLE, EXTERNAL_TABLE or VIRTUAL_VIEW" }),
    owner: Nullable(Type.String()),
    created_at: Timestamp,
    location: Nullable(Type.String({ description: "Null for a view" })),
    input_format: Nullable(Type.String()),
    partition_columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })),
    parameters: Type.Record(Type.String(), Type.String()),
  }),
  find: findTableInPath,

  handle({ found }) {
    return Promise.resolve({
      table_type: found.kind,
      owner: found.owner,
      created_at: isoSeconds(found.createdAt),
      location: found.location,
      input_format: found.inputFormat,
      partition_columns: found.partitionKeys.map(({ name, type }) => ({ name, type })),
      parameters: Object.fromEntries(found.parameters),
    });
  },
});
