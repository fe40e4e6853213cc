import type { TObject } from "typebox";
import type { Endpoint, EndpointExample } from "../endpoint.ts";
import { deprecationHeaders } from "../deprecation.ts";
import { isRecord } from "../../lib/is-record.ts";
import type { Content, Header, JsonSchema, Operation, Parameter, Reference } from "./document.ts";
import type { DocumentedPath } from "./documented-paths.ts";
import type { NamedSchemas } from "./named-schemas.ts";
import { eventStreamContent } from "./event-stream-content.ts";
import { refusalsOf } from "./refusals.ts";

/** The access rules of an operation, for the document. */
export interface AccessNote {
  /** The value of `x-permission`. */
  permission: unknown;
  /** The same in one sentence, for readers. */
  text: string;
  needsToken: boolean;
  /** Callers without permission get 404. */
  isHidden: boolean;
}

export function operationEntry(
  path: DocumentedPath<Endpoint<unknown, never, never>>,
  access: AccessNote,
  schemas: NamedSchemas,
): Operation {
  const { endpoint, version, operationId, alsoAt } = path;
  const parameters = [...pathParameters(path), ...queryParameters(endpoint), ...headerParameters(endpoint)];
  return {
    operationId,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: [endpoint.description, access.text].filter((text) => text !== undefined).join("\n\n"),
    ...(endpoint.supersededBy?.[version] === undefined ? {} : { deprecated: true }),
    ...(access.needsToken ? {} : { security: [] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined ? {} : { requestBody: requestBody(endpoint.body, endpoint.example, schemas) }),
    responses: {
      "200": {
        description: "Done.",
        headers: replyHeaders(path),
        content: replyContent(endpoint, schemas),
      },
      ...refusalsOf(endpoint, access.needsToken, access.isHidden),
    },
    "x-permission": access.permission,
    ...(alsoAt.length === 0 ? {} : { "x-also-at": alsoAt }),
  };
}

function pathParameters({ endpoint, parameterNames }: DocumentedPath<Endpoint<unknown, never, never>>): Parameter[] {
  return [...parameterNames].map(([ours, name]) => {
    const property = propertiesOf(endpoint.params).find(([key]) => key === ours);
    if (property === undefined) throw new Error(`${endpoint.id} has no schema for its path parameter ${ours}`);
    const example = endpoint.example?.params?.[ours];
    return { ...parameter(name, "path", true, property[1]), ...(example === undefined ? {} : { example }) };
  });
}

function queryParameters({ query }: Endpoint<unknown, never, never>): Parameter[] {
  return propertiesOf(query).map(([name, schema]) => parameter(name, "query", isRequired(query, name), schema));
}

function headerParameters({ method }: Endpoint<unknown, never, never>): Reference[] {
  return method === "POST" ? [{ $ref: "#/components/parameters/IdempotencyKey" }] : [];
}

function parameter(name: string, place: Parameter["in"], required: boolean, schema: JsonSchema): Parameter {
  const { description, ...rest } = schema;
  return {
    name,
    in: place,
    required,
    ...(typeof description === "string" ? { description } : {}),
    schema: rest,
  };
}

function requestBody(
  body: TObject,
  example: EndpointExample | undefined,
  schemas: NamedSchemas,
): NonNullable<Operation["requestBody"]> {
  const shown = example?.body === undefined ? {} : { example: example.body };
  return {
    required: (body.required ?? []).length > 0,
    content: { "application/json": { schema: schemas.place(body), ...shown } },
  };
}

function replyContent(endpoint: Endpoint<unknown, never, never>, schemas: NamedSchemas): Content {
  const { reply, streams = {}, eventStream } = endpoint;
  const streamed = Object.entries(streams).map(([type, description]): [string, Content[string]] => [
    type,
    { schema: { type: "string", description } },
  ]);
  return {
    ...(reply === undefined ? {} : { "application/json": { schema: schemas.place(reply) } }),
    ...Object.fromEntries(streamed),
    ...(eventStream === undefined ? {} : { "text/event-stream": eventStreamContent(eventStream) }),
  };
}

function replyHeaders({ endpoint, version }: DocumentedPath<Endpoint<unknown, never, never>>) {
  const own = Object.entries(endpoint.replyHeaders ?? {}).map(([name, description]): [string, Header] => [
    name,
    { description, schema: { type: "string" } },
  ]);
  const deprecation = Object.entries(deprecationHeaders(endpoint, version)).map(([name, value]): [string, Header] => [
    name,
    { description: "A newer version replaces this one.", schema: { type: "string", const: value } },
  ]);
  return {
    "X-Request-Id": { $ref: "#/components/headers/RequestId" },
    ...Object.fromEntries([...own, ...deprecation]),
  };
}

function propertiesOf(schema: TObject | undefined): [string, JsonSchema][] {
  if (schema === undefined) return [];
  const plain: unknown = JSON.parse(JSON.stringify(schema.properties));
  return isRecord(plain)
    ? Object.entries(plain).filter((entry): entry is [string, JsonSchema] => isRecord(entry[1]))
    : [];
}

function isRequired(schema: TObject | undefined, name: string): boolean {
  const required: readonly string[] = schema?.required ?? [];
  return required.includes(name);
}
