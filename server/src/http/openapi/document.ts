/** The part of OpenAPI 3.1 that Headgate uses. The reference page and the generated tests read it. */
export interface OpenApiDocument {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  /** `x-guides`: the paths of guides about the operations with this tag. */
  tags: { name: string; "x-guides"?: readonly string[] }[];
  security: SecurityRequirement[];
  paths: Record<string, PathItem>;
  components: {
    schemas: Record<string, JsonSchema>;
    responses: Record<string, Response>;
    headers: Record<string, Header>;
    parameters: Record<string, Parameter>;
    securitySchemes: Record<string, unknown>;
  };
}

export type JsonSchema = Readonly<Record<string, unknown>>;
export type OpenApiMethod = "get" | "post" | "put" | "delete";
export type PathItem = Partial<Record<OpenApiMethod, Operation>>;
export type SecurityRequirement = Record<string, string[]>;

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  deprecated?: true;
  security?: SecurityRequirement[];
  parameters?: (Parameter | Reference)[];
  requestBody?: { required: boolean; content: JsonContent | BytesContent };
  responses: Record<string, Response | Reference>;
  /** The callers who may use it: a row of the permission table, or the name of a rule without a row. */
  "x-permission": unknown;
  /** Further paths of the same operation: aliases and mirrors of older versions. */
  "x-also-at"?: string[];
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  schema: JsonSchema;
  example?: string;
}

export interface Response {
  description: string;
  headers?: Record<string, Header | Reference>;
  content?: Content;
}

export interface Header {
  description: string;
  schema: JsonSchema;
}

export interface Reference {
  $ref: string;
}

/** Keyed by content type. */
export type Content = Record<string, MediaType>;

export interface MediaType {
  schema: JsonSchema;
  example?: unknown;
  /** The schema of one event of a stream, which OpenAPI 3.2 calls `itemSchema`. */
  "x-item-schema"?: JsonSchema;
}

export interface JsonContent {
  "application/json": { schema: JsonSchema; example?: Readonly<Record<string, unknown>> };
}

export interface BytesContent {
  "application/octet-stream": { schema: JsonSchema; example?: string };
}

/** The extension `x-field-groups` of the schema of a body: its fields by the purpose of the request. */
export interface FieldGroup {
  readonly title: string;
  /** A field can be in several groups. */
  readonly fields: readonly string[];
  /** A body that the server accepts as it is. */
  readonly example?: Readonly<Record<string, unknown>>;
}

export function isReference(value: object): value is Reference {
  return "$ref" in value;
}
