import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Nullable } from "../http/schema.ts";
import { findTableInPath, READ_TABLES, TableParams } from "./table-params.ts";
import { streamedArray } from "./streamed-array.ts";

export const viewTable = operation({
  id: "hive_table",
  summary: "Read the columns of a table or view",
  tag: "Hive",
  method: "GET",
  paths: { "v1.2": "/hive/:schema/:table" },
  access: { permission: READ_TABLES },
  params: TableParams,
  example: {
    params: { schema: "default" },
    reply: [
      { name: "id", type: "bigint", comment: null },
      { name: "dt", type: "string", comment: null },
    ],
  },
  reply: Type.Array(Type.Object({ name: Type.String(), type: Type.String(), comment: Nullable(Type.String()) })),
  find: findTableInPath,

  handle({ found }) {
    return streamedArray([found.columns]);
  },
});
