import type { TLocalizedValidationError } from "typebox/error";
import { Compile } from "typebox/compile";
import type { TObject } from "typebox";
import { Fault, notFound } from "../lib/fault.ts";
import { isRecord } from "../lib/is-record.ts";
import { coerceInput } from "./coerce-input.ts";

/** Parses and validates one part of a request by its schema; built once per endpoint. */
export type InputReader = (raw: unknown) => Record<string, unknown>;

export function inputReader(schema: TObject | undefined): InputReader {
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
    throw new Fault("invalid", describe(validator.Errors(value)));
  };
}

function mustBeObject(raw: unknown): asserts raw is Record<string, unknown> {
  if (!isRecord(raw)) throw new Fault("invalid", "The body must be a JSON object.");
}

/** A path parameter that cannot be an id is 404, like an id that does not exist. */
export function paramsReader(schema: TObject | undefined): InputReader {
  const read = inputReader(schema);
  return (raw) => {
    try {
      return read(raw);
    } catch (error) {
      if (error instanceof Fault && error.code === "invalid") throw notFound();
      throw error;
    }
  };
}

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
