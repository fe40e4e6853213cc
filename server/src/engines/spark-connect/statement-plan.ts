import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { PlanSchema } from "./messages/base_pb.ts";
import { RelationSchema } from "./messages/relations_pb.ts";

/** As the extension in `jvm/connect` knows it. */
const STORED_RESULT = "headgate/spark.connect.Relation";

/**
 * A statement goes as a query. A command runs then all the same, once, and its rows come with their types and in any
 * number. A server with our extension keeps the result on disk until it is read; without it, in its heap.
 */
export function statementPlan(sql: string, storedResults: boolean): MessageInitShape<typeof PlanSchema> {
  const relation = create(RelationSchema, { relType: { case: "sql", value: { query: sql } } });
  if (!storedResults) return { opType: { case: "root", value: relation } };
  const value = { typeUrl: STORED_RESULT, value: toBinary(RelationSchema, relation) };
  return { opType: { case: "command", value: { commandType: { case: "extension", value } } } };
}
