/** The search index: what `search.js` finds in the page about each operation and guide. */
import { isReference, type JsonSchema, type OpenApiDocument, type Operation } from "../openapi/document.ts";
import { pathsOf, type ListedOperation, type ReferenceEntry } from "./entry.ts";
import { schemaRows, type SchemaRow } from "./schema-rows.ts";
import { parameterRows, schemaResolver } from "./schema-tables.ts";

export interface SearchEntry {
  readonly href: string;
  readonly title: string;
  /** Methods and paths. */
  readonly calls: readonly string[];
  readonly fields: readonly string[];
  /** The words of all descriptions, or of the guide, each once, in lower case. */
  readonly words: string;
}

export function searchEntry({ newest, older }: ReferenceEntry, document: OpenApiDocument): SearchEntry {
  const versions = [newest, ...older];
  const rows = versions.flatMap(({ operation }) => rowsOf(operation, document));
  const { operationId, summary } = newest.operation;
  return {
    href: `#${operationId}`,
    title: summary,
    calls: versions.flatMap(callsOf),
    fields: unique(rows.map(({ name }) => name)),
    words: searchWords([
      ...versions.flatMap(({ operation }) => [operation.operationId, operation.description ?? "", ...operation.tags]),
      ...rows.map(({ notes }) => notes),
    ]),
  };
}

/** The words of texts, each once, separated by spaces; `cluster:update` is one. `search.js` splits in the same way. */
export function searchWords(texts: readonly string[]): string {
  const words =
    texts
      .join(" ")
      .toLowerCase()
      .match(/[a-z0-9_]+(:[a-z0-9_]+)*/g) ?? [];
  return unique(words).toSorted().join(" ");
}

function callsOf(listed: ListedOperation): string[] {
  return pathsOf(listed).map((path) => `${listed.method.toUpperCase()} ${path}`);
}

function rowsOf(operation: Operation, document: OpenApiDocument): SchemaRow[] {
  const resolve = schemaResolver(document);
  const reply = operation.responses["200"];
  const schemas = [
    jsonSchemaOf(operation),
    reply === undefined || isReference(reply) ? undefined : reply.content?.["application/json"]?.schema,
  ];
  return [
    ...parameterRows(operation, document),
    ...schemas.flatMap((schema) => (schema === undefined ? [] : schemaRows(schema, resolve))),
  ];
}

function jsonSchemaOf({ requestBody }: Operation): JsonSchema | undefined {
  const content = requestBody?.content;
  return content !== undefined && "application/json" in content ? content["application/json"].schema : undefined;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
