import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { PlanSchema } from "./messages/base_pb.ts";
import { RelationSchema } from "./messages/relations_pb.ts";

/** The type URL that the extension in `jvm/connect` handles. */
const STORED_RESULT = "headgate/spark.connect.Relation";

/**
 * Every statement is sent as a query. A command still runs, once, and may return any number of typed rows. A server
 * with our extension keeps the result on disk until it is read, other servers in their heap.
 */
export function statementPlan(sql: string, storedResults: boolean): MessageInitShape<typeof PlanSchema> {
  const relation = create(RelationSchema, { relType: { case: "sql", value: { query: sql } } });
  if (!storedResults) return { opType: { case: "root", value: relation } };
  const value = { typeUrl: STORED_RESULT, value: toBinary(RelationSchema, relation) };
  return { opType: { case: "command", value: { commandType: { case: "extension", value } } } };
}
