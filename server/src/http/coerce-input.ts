import type { TSchema } from "typebox";
import { invalid } from "../lib/fault.ts";
import { isRecord } from "../lib/is-record.ts";

/**
 * Clients of the original API send `null` for unset fields, numbers and booleans as strings, and numbers where text is
 * expected. This pass converts values to the types of the schema and drops unknown fields. Values that it cannot
 * convert are left for the validator to refuse. (Validators' own coercion turns null into 0.)
 */
export function coerceInput(schema: TSchema, value: unknown, field = ""): unknown {
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
      return value;
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
