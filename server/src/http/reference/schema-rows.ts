/** A schema as table rows: one per field, nested fields by their path. */
import { isRecord } from "../../lib/is-record.ts";
import type { JsonSchema } from "../openapi/document.ts";

export interface SchemaRow {
  name: string;
  type: string;
  isRequired: boolean;
  notes: string;
}

export type Resolve = (schema: JsonSchema) => JsonSchema;

export function schemaRows(schema: JsonSchema, resolve: Resolve, path = ""): SchemaRow[] {
  const { properties, required, items, additionalProperties } = resolve(schema);
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const rows = Object.entries(isRecord(properties) ? properties : {}).flatMap(([key, property]) =>
    isRecord(property) ? fieldRows(path === "" ? key : `${path}.${key}`, property, needed.includes(key), resolve) : [],
  );
  const element = isRecord(items) ? schemaRows(items, resolve, `${path}[]`) : [];
  const values = isRecord(additionalProperties) ? fieldRows(`${path}.*`, additionalProperties, false, resolve) : [];
  return [...rows, ...element, ...values];
}

function fieldRows(name: string, schema: JsonSchema, isRequired: boolean, resolve: Resolve): SchemaRow[] {
  const resolved = resolve(schema);
  return [
    { name, type: typeText(resolved, resolve), isRequired, notes: notesOf(resolved) },
    ...schemaRows(resolved, resolve, name),
  ];
}

export function typeText(schema: JsonSchema, resolve: Resolve): string {
  const { type, items, anyOf } = resolve(schema);
  const alternatives = Array.isArray(anyOf) ? anyOf.filter(isRecord).map((each) => typeText(each, resolve)) : [];
  if (alternatives.length > 0) return alternatives.join(" or ");
  const names = (Array.isArray(type) ? type : [type]).map((each) => (typeof each === "string" ? each : "any"));
  return names
    .map((each) => (each === "array" && isRecord(items) ? `array of ${typeText(items, resolve)}` : each))
    .join(" or ");
}

/** The rules for a value, and its description. */
export function notesOf(schema: JsonSchema): string {
  const rules = Object.entries(RULES).flatMap(([keyword, text]) =>
    schema[keyword] === undefined ? [] : [text(plain(schema[keyword]))],
  );
  const description = typeof schema.description === "string" ? [schema.description.replace(/\.$/, "")] : [];
  return [...description, ...rules].join("; ");
}

const RULES: Record<string, (value: string) => string> = {
  enum: (value) => `one of ${value}`,
  const: (value) => `always ${value}`,
  default: (value) => `default ${value}`,
  minimum: (value) => `at least ${value}`,
  maximum: (value) => (Number(value) === Number.MAX_SAFE_INTEGER ? "an exact integer" : `at most ${value}`),
  minLength: (value) => `at least ${value} characters`,
  maxLength: (value) => `at most ${value} characters`,
  minItems: (value) => `at least ${value} entries`,
  maxItems: (value) => `at most ${value} entries`,
  pattern: (value) => `matches ${value}`,
  examples: (value) => `for example ${value}`,
};

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
