/**
 * The compiled schemas of an endpoint. Most endpoints are not called for hours, so each is compiled once for all its
 * versions, on its first call. This saves half a second of startup and half of the memory.
 */
import fastJson from "fast-json-stringify";
import { Type, type TObject, type TSchema } from "typebox";
import type { TLocalizedValidationError } from "typebox/error";
import { Compile } from "typebox/schema";
import { Fault, notFound, invalid } from "../lib/fault.ts";
import { isRecord } from "../lib/is-record.ts";

export interface EndpointCodec {
  readonly readParams: InputReader;
  readonly readQuery: InputReader;
  readonly readBody: InputReader;
  /** Converts the fields of the query (GET) or of the body without validating them. */
  readonly readLoosely: InputReader;
  readonly writeReply: (reply: unknown) => string;
}

interface Schemas {
  method?: string;
  params?: TObject;
  query?: TObject;
  body?: TObject;
  reply?: TSchema;
}

const codecs = new WeakMap<Schemas, EndpointCodec>();

export function codecOf(endpoint: Schemas): EndpointCodec {
  let codec = codecs.get(endpoint);
  if (codec === undefined) {
    codec = {
      readParams: paramsReader(endpoint.params),
      readQuery: inputReader(endpoint.query),
      readBody: inputReader(endpoint.body),
      readLoosely: looseReader(endpoint.method === "GET" ? endpoint.query : endpoint.body),
      writeReply: endpoint.reply === undefined ? JSON.stringify : replyWriter(endpoint.reply),
    };
    codecs.set(endpoint, codec);
  }
  return codec;
}

const replyWriters = new WeakMap<TSchema, EndpointCodec["writeReply"]>();

export function replyWriter(schema: TSchema): EndpointCodec["writeReply"] {
  // The library types schemas as JSON Schema draft 7; ours use the 2020 form of nullable types, which it reads.
  const writer = replyWriters.get(schema) ?? fastJson(schema as Parameters<typeof fastJson>[0]);
  replyWriters.set(schema, writer);
  return writer;
}

/** Parses and validates one part of a request by its schema; built once per endpoint. */
type InputReader = (raw: unknown) => Record<string, unknown>;

function inputReader(schema: TObject | undefined): InputReader {
  if (schema === undefined) {
    return (raw) => {
      mustBeObject(raw);
      return {};
    };
  }
  const validator = Compile(schema);
  return (raw) => {
    mustBeObject(raw);
    const value = coerceInput(schema, raw);
    if (validator.Check(value)) return value;
    const [, errors] = validator.Errors(value);
    throw new Fault("invalid", describe(errors));
  };
}

function looseReader(schema: TObject | undefined): InputReader {
  return (raw) => {
    const value = schema !== undefined && isRecord(raw) ? coerceInput(schema, raw) : {};
    return isRecord(value) ? value : {};
  };
}

function mustBeObject(raw: unknown): asserts raw is Record<string, unknown> {
  if (!isRecord(raw)) throw new Fault("invalid", "The body must be a JSON object.");
}

/** A path parameter that cannot be an id is 404, like an id that does not exist. */
function paramsReader(schema: TObject | undefined): InputReader {
  const readers = Object.entries(schema === undefined ? {} : propertiesOf(schema)).map(([name, property]) => ({
    name,
    read: inputReader(Type.Object({ [name]: property })),
  }));
  return (raw) => {
    const given: Record<string, unknown> = isRecord(raw) ? raw : {};
    const params: Record<string, unknown> = {};
    for (const { name, read } of readers) {
      try {
        params[name] = read({ [name]: given[name] })[name];
      } catch (error) {
        if (error instanceof Fault && error.code === "invalid") throw notFound(kindOf(name), String(given[name]));
        throw error;
      }
    }
    return params;
  };
}

/** The kind of object that a path parameter names: that of `cluster_id` is Cluster. */
function kindOf(parameter: string): string {
  const kind = KINDS[parameter] ?? parameter.replace(/_id$/, "");
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}

const KINDS: Readonly<Record<string, string>> = { ids: "whitelist entry", note_id: "notebook", users: "user" };

function describe(errors: readonly TLocalizedValidationError[]): string {
  const [first] = errors;
  if (first === undefined) return "The request is not valid.";
  const field = fieldAt(first.instancePath);
  if (first.keyword === "required") {
    const [missing] = first.params.requiredProperties;
    return `${field === "" ? "" : `${field}.`}${missing ?? "a field"} is required`;
  }
  return `${field === "" ? "The body" : field} ${rule(first)}`;
}

/** Turns `/columns/0/values` into `columns[0].values`, the spelling that rules outside of schemas use. */
function fieldAt(pointer: string): string {
  return pointer
    .slice(1)
    .replaceAll(/\/(\d+)(?=\/|$)/g, "[$1]")
    .replaceAll("/", ".");
}

function rule(error: TLocalizedValidationError): string {
  switch (error.keyword) {
    case "type":
      return `must be ${[error.params.type].flat().map(article).join(" or ")}`;
    case "const":
      return `must be ${String(error.params.allowedValue)}`;
    case "minimum":
      return `must be at least ${String(error.params.limit)}`;
    case "maximum":
      return `must be at most ${String(error.params.limit)}`;
    case "minLength":
      return error.params.limit === 1 ? "must not be empty" : `must have at least ${error.params.limit} characters`;
    case "maxLength":
      return `must have at most ${error.params.limit} characters`;
    case "minItems":
      return error.params.limit === 1 ? "must not be empty" : `must have at least ${error.params.limit} entries`;
    case "maxItems":
      return `must have at most ${error.params.limit} entries`;
    case "enum":
      return `must be one of ${error.params.allowedValues.map(String).join(", ")}`;
    default:
      return error.message;
  }
}

function article(type: string): string {
  if (type === "null") return type;
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

/**
 * Clients of the original API send `null` for unset fields, numbers and booleans as strings, and numbers where text is
 * expected. This pass converts values to the types of the schema and drops unknown fields. Values that it cannot
 * convert are left for the validator to refuse. (Validators' own coercion turns null into 0.)
 */
function coerceInput(schema: TSchema, value: unknown, field = ""): unknown {
  switch (typeOf(schema)) {
    case "object":
      return isRecord(value) ? coerceObject(schema, value, field) : value;
    case "array":
      return Array.isArray(value)
        ? value.map((item, index) => coerceInput(itemsOf(schema), item, `${field}[${index}]`))
        : value;
    case "integer":
    case "number":
      return coerceNumber(value, field);
    case "boolean":
      return coerceBoolean(value);
    case "string":
      return coerceString(value, field);
    default:
      // Several types, or any: a text must still be one that can be stored.
      return typeof value === "string" ? coerceString(value, field) : value;
  }
}

function coerceObject(schema: TSchema, value: Record<string, unknown>, field: string): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, property] of Object.entries(propertiesOf(schema))) {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given === undefined || given === null) continue;
    result[key] = coerceInput(property, given, fieldOf(field, key));
  }
  const rest = restOf(schema);
  if (rest === undefined) return result;
  for (const [key, given] of Object.entries(value)) {
    if (given === null || Object.hasOwn(result, key)) continue;
    // Assignment would treat the key `__proto__` specially.
    Object.defineProperty(result, key, {
      value: coerceInput(rest, given, fieldOf(field, key)),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return result;
}

function fieldOf(parent: string, key: string): string {
  return parent === "" ? key : `${parent}.${key}`;
}

function coerceNumber(value: unknown, field: string): unknown {
  const number = typeof value === "string" && /^\s*[+-]?\d{1,20}\s*$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Math.abs(number) > Number.MAX_SAFE_INTEGER) {
    throw invalid(field, "is too large");
  }
  return number;
}

function coerceBoolean(value: unknown): unknown {
  if (value === 1 || value === 0) return value === 1;
  if (typeof value !== "string") return value;
  switch (value.trim().toLowerCase()) {
    case "true":
    case "1":
      return true;
    case "false":
    case "0":
      return false;
    default:
      return value;
  }
}

function coerceString(value: unknown, field: string): unknown {
  if (typeof value === "number") {
    // JSON numbers are parsed as doubles: a larger integer would be stored as another number.
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
      throw invalid(field, "is too large for a number: send it as text");
    }
    return String(value);
  }
  if (typeof value !== "string") return value;
  // PostgreSQL cannot store either of them.
  if (value.includes("\u0000")) throw invalid(field, "must not contain U+0000");
  if (!value.isWellFormed()) throw invalid(field, "must be well-formed Unicode, without lone surrogates");
  return value;
}

function typeOf(schema: TSchema): unknown {
  return "type" in schema ? schema.type : undefined;
}

function itemsOf(schema: TSchema): TSchema {
  return "items" in schema && isRecord(schema.items) ? schema.items : {};
}

function propertiesOf(schema: TSchema): Record<string, TSchema> {
  // Object schemas of TypeBox always have their properties as schemas.
  return "properties" in schema ? (schema.properties as Record<string, TSchema>) : {};
}

/** The schema of keys that the client chooses: `additionalProperties`, if it is a schema. */
function restOf(schema: TSchema): TSchema | undefined {
  return "additionalProperties" in schema && isRecord(schema.additionalProperties)
    ? schema.additionalProperties
    : undefined;
}
