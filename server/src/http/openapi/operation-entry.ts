import type { TObject } from "typebox";
import { isRecord } from "../../lib/is-record.ts";
import type { Endpoint, EventStream, StreamedEvent } from "../endpoint.ts";
import { deprecationHeaders } from "../route-table.ts";
import { ErrorBody } from "../error-body.ts";
import { listSchema } from "../form-codec.ts";
import type { VersionForm } from "../version-form.ts";
import type { Content, Header, JsonSchema, Operation, Parameter, Reference, MediaType, Response } from "./document.ts";
import type { DocumentedPath } from "./documented-paths.ts";
import type { NamedSchemas } from "./named-schemas.ts";

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
  answers: Readonly<Record<string, unknown>>,
  schemas: NamedSchemas,
): Operation {
  const { endpoint, version, operationId, alsoAt } = path;
  const form = endpoint.forms?.[version];
  const answer = endpoint.example?.reply ?? answers[form === undefined ? endpoint.id : operationId];
  const parameters = [...pathParameters(path), ...queryParameters(endpoint, form), ...headerParameters(endpoint)];
  const body = requestBody(endpoint, form, schemas);
  return {
    operationId,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: [endpoint.description, form?.description, access.text]
      .filter((text) => text !== undefined)
      .join("\n\n"),
    ...(endpoint.supersededBy?.[version] === undefined ? {} : { deprecated: true }),
    ...(access.needsToken ? {} : { security: [] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      "200": {
        description: "Done.",
        headers: replyHeaders(path),
        content: replyContent(endpoint, form, answer, schemas),
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

function queryParameters(
  { query, example: { query: examples = {} } = {} }: Endpoint<unknown, never, never>,
  form: VersionForm | undefined,
): Parameter[] {
  return propertiesOf(query).map(([name, declared]) => {
    const example = examples[name];
    // A list that is shown as a whole has no default page.
    const schema = form?.list !== undefined && name === "page" ? withoutDefault(declared) : declared;
    const entry = parameter(name, "query", isRequired(query, name), schema);
    return example === undefined ? entry : { ...entry, example };
  });
}

function withoutDefault({ default: _unused, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

function headerParameters({ method, requestHeaders = {} }: Endpoint<unknown, never, never>): (Parameter | Reference)[] {
  const own = Object.entries(requestHeaders).map(([name, description]) =>
    parameter(name, "header", false, { type: "string", description }),
  );
  return method === "POST" ? [...own, { $ref: "#/components/parameters/IdempotencyKey" }] : own;
}

function parameter(name: string, location: Parameter["in"], required: boolean, schema: JsonSchema): Parameter {
  const { description, ...rest } = schema;
  return {
    name,
    in: location,
    required,
    ...(typeof description === "string" ? { description } : {}),
    schema: rest,
  };
}

function requestBody(
  { body, byteBody, example }: Endpoint<unknown, never, never>,
  form: VersionForm | undefined,
  schemas: NamedSchemas,
): Operation["requestBody"] {
  if (byteBody !== undefined) {
    const schema = { type: "string", format: "binary", description: byteBody };
    const shown = example?.bytes === undefined ? {} : { example: example.bytes };
    return { required: true, content: { "application/octet-stream": { schema, ...shown } } };
  }
  if (body === undefined) return undefined;
  const shown = form?.body?.example ?? example?.body;
  return {
    required: (body.required ?? []).length > 0,
    content: {
      "application/json": {
        schema: schemas.register(form?.body?.schema ?? body),
        ...(shown === undefined ? {} : { example: shown }),
      },
    },
  };
}

function replyContent(
  endpoint: Endpoint<unknown, never, never>,
  form: VersionForm | undefined,
  answer: unknown,
  schemas: NamedSchemas,
): Content {
  const { streams = {}, eventStream } = endpoint;
  const example = answer === undefined ? {} : { example: answer };
  const reply = form?.list === undefined ? (form?.reply?.schema ?? endpoint.reply) : listSchema(form.list);
  const streamed = Object.entries(streams).map(([type, description]): [string, Content[string]] => [
    type,
    { schema: { type: "string", description }, ...(type === "text/plain" || reply === undefined ? example : {}) },
  ]);
  return {
    ...(reply === undefined ? {} : { "application/json": { schema: schemas.register(reply), ...example } }),
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

/** OpenAPI 3.1 cannot describe the events of a stream: the schema describes the text, an extension the events. */
function eventStreamContent({ description, events, example }: EventStream): MediaType {
  return {
    schema: { type: "string", contentMediaType: "text/event-stream", description },
    example,
    "x-item-schema": { oneOf: Object.entries(events).map(eventSchema) },
  };
}

function eventSchema([name, { description, id, data }]: [string, StreamedEvent]): JsonSchema {
  return {
    type: "object",
    description,
    required: ["event", ...(id === undefined ? [] : ["id"]), "data"],
    properties: { event: { const: name }, ...(id === undefined ? {} : { id }), data },
  };
}

/** The meaning of each status for a client; all have the same format. */
const MEANINGS = {
  400: "The body is not JSON in UTF-8, or the request is malformed.",
  401: "The token is missing or unknown.",
  403: "Not permitted; or the user is pending or disabled; or the address is not whitelisted.",
  404: "No such path or id, or an id of another account.",
  409: "A unique name is taken, an edit conflicts, or the same idempotency key is in flight.",
  412: "The object is not the one that the header If-Match names.",
  413: "The body is larger than this operation accepts.",
  416: "The object has no such range.",
  422: "A value breaks a rule; the message names the field and the rule.",
  429: "Too many requests, or too many large bodies at once; wait for the time in Retry-After.",
  503: "The database is unavailable, the disk is nearly full or the server is overloaded; retry after the time in Retry-After.",
} as const;

type Refusal = keyof typeof MEANINGS;

export function refusalResponses(schemas: NamedSchemas): Record<string, Response> {
  const content = { "application/json": { schema: schemas.register(ErrorBody) } };
  const headers = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };
  const response = (description: string): Response => ({ description, headers, content });
  return {
    ...Object.fromEntries(Object.entries(MEANINGS).map(([status, text]) => [`Refusal${status}`, response(text)])),
    Refusal: response("Any other error."),
  };
}

/** The refusals that an operation can reply with, as far as its data shows. */
function refusalsOf(
  { method, params, query, body, byteBody, requestHeaders = {}, restOfPath }: Endpoint<unknown, never, never>,
  needsToken: boolean,
  isHidden: boolean,
): Record<string, Reference> {
  const possible: Record<Refusal, boolean> = {
    400: body !== undefined,
    401: needsToken,
    403: needsToken,
    404: params !== undefined || isHidden,
    409: method === "POST" || method === "PUT",
    412: "If-Match" in requestHeaders,
    413: body !== undefined || byteBody !== undefined,
    416: "Range" in requestHeaders,
    422: body !== undefined || query !== undefined || method === "POST" || restOfPath === true,
    429: needsToken,
    503: true,
  };
  const statuses = Object.entries(possible).flatMap(([status, is]) => (is ? [status] : []));
  const references = statuses.map((status): [string, Reference] => [status, reference(`Refusal${status}`)]);
  return { ...Object.fromEntries(references), default: reference("Refusal") };
}

function reference(name: string): Reference {
  return { $ref: `#/components/responses/${name}` };
}
