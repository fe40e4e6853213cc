/**
 * The OpenAPI 3.1 document, generated only from the endpoints' data: it describes exactly what is routed. The output is
 * deterministic, so that the committed file can be compared.
 */
import type { Endpoint } from "./endpoint.ts";
import type { OpenApiDocument, OpenApiMethod, PathItem } from "./openapi/document.ts";
import { documentedPaths } from "./openapi/documented-paths.ts";
import { NamedSchemas } from "./openapi/named-schemas.ts";
import { operationEntry, refusalResponses, type AccessNote } from "./openapi/operation-entry.ts";

export interface OpenApiOptions<Access> {
  title: string;
  version: string;
  description: string;
  describeAccess: (access: Access) => AccessNote;
  /** The paths of the guides about a tag's operations, by tag. */
  guides: Readonly<Record<string, readonly string[]>>;
  /** Example answers by operation id. */
  answers: Readonly<Record<string, unknown>>;
}

const METHOD_ORDER: readonly OpenApiMethod[] = ["get", "post", "put", "delete"];
const TOKEN_HEADER = "X-AUTH-TOKEN";

export function openApiDocument<Access>(
  endpoints: readonly Endpoint<Access, never, never>[],
  { title, version, description, describeAccess, guides, answers }: OpenApiOptions<Access>,
): OpenApiDocument {
  const schemas = new NamedSchemas();
  const responses = refusalResponses(schemas);
  const paths = new Map<string, PathItem>();
  for (const path of documentedPaths(endpoints)) {
    const { endpoint, template } = path;
    const item = paths.get(template) ?? {};
    item[methodOf(endpoint)] = operationEntry(path, describeAccess(endpoint.access), answers, schemas);
    paths.set(template, item);
  }
  return {
    openapi: "3.1.0",
    info: { title, version, description },
    servers: [{ url: "/" }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => {
      const paths = guides[name];
      return paths === undefined ? { name } : { name, "x-guides": paths };
    }),
    security: [{ token: [] }, { bearer: [] }],
    paths: Object.fromEntries(
      [...paths].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([template, item]) => [template, ordered(item)]),
    ),
    components: {
      schemas: schemas.all,
      responses,
      headers: {
        RequestId: { description: "Identifies the request in the server's log.", schema: { type: "string" } },
      },
      parameters: {
        IdempotencyKey: {
          name: "Idempotency-Key",
          in: "header",
          required: false,
          description: "A repeated request with the same key and body returns the first reply and changes nothing.",
          schema: { type: "string", minLength: 1, maxLength: 255 },
        },
      },
      securitySchemes: {
        token: { type: "apiKey", in: "header", name: TOKEN_HEADER },
        bearer: { type: "http", scheme: "bearer", description: `The same token as in ${TOKEN_HEADER}` },
      },
    },
  };
}

function methodOf({ method }: Endpoint<unknown, never, never>): OpenApiMethod {
  switch (method) {
    case "GET":
      return "get";
    case "POST":
      return "post";
    case "PUT":
      return "put";
    case "DELETE":
      return "delete";
  }
}

function ordered(item: PathItem): PathItem {
  const result: PathItem = {};
  for (const method of METHOD_ORDER) {
    const operation = item[method];
    if (operation !== undefined) result[method] = operation;
  }
  return result;
}
