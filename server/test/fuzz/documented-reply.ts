import { Compile } from "typebox/schema";
import { isRecord } from "../../src/lib/is-record.ts";
import { isReference, type JsonSchema, type OpenApiDocument } from "../../src/http/openapi/document.ts";
import type { Reply } from "../support/client.ts";

/** Checks by operation id: whether a 200 reply matches the document and has only keys that the document names. */
export function replyChecks(document: OpenApiDocument): Map<string, (reply: Reply) => boolean> {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  return new Map(
    operations.map((operation) => {
      const reply = operation.responses["200"];
      if (reply === undefined || isReference(reply))
        throw new Error(`${operation.operationId} has no documented 200 reply`);
      const byType = new Map(
        Object.entries(reply.content ?? {}).map(([type, { schema }]) => [type, Compile(closed(schema, document))]),
      );
      return [
        operation.operationId,
        ({ headers, body, text }: Reply) => {
          const [type = ""] = (headers.get("content-type") ?? "").split(";");
          return byType.get(type)?.Check(type === "application/json" ? body : text) === true;
        },
      ];
    }),
  );
}

/** Resolves references, and forbids keys that the document does not name. */
function closed(schema: JsonSchema, document: OpenApiDocument): JsonSchema {
  const inner = (each: unknown): unknown => (isRecord(each) ? closed(each, document) : each);
  if (isReference(schema)) {
    return closed(document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, document);
  }
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (key === "properties" && isRecord(value)) {
      return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inner(each)]))];
    }
    return [key, Array.isArray(value) ? value.map(inner) : inner(value)];
  });
  const isOpen = schema.type === "object" && isRecord(schema.properties) && !("additionalProperties" in schema);
  return Object.fromEntries(isOpen ? [...entries, ["additionalProperties", false]] : entries);
}
