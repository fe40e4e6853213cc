/** Schemas shared by requests and replies. */
import { Type, type Static, type TSchema } from "typebox";

/** Integers of the API stay exact in every JSON implementation. */
export const MAX_INTEGER = Number.MAX_SAFE_INTEGER;

export const Id = Type.Integer({ minimum: 1, maximum: MAX_INTEGER, description: "Identifier" });

export const Timestamp = Type.String({
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$",
  description: "UTC, YYYY-MM-DDTHH:MM:SSZ",
  examples: ["2026-01-31T08:30:00Z"],
});

/** A reply value that may be null: `type: [T, "null"]`, the form of OpenAPI 3.1. */
export function Nullable<S extends TSchema & { type: string }>(schema: S) {
  return Type.Unsafe<Static<S> | null>({ ...schema, type: [schema.type, "null"] });
}

/** A closed set of strings, as one `enum`. */
export function OneOf<const Values extends readonly string[]>(values: Values, options: Record<string, unknown> = {}) {
  return Type.Unsafe<Values[number]>({ type: "string", enum: [...values], ...options });
}

/** An array of objects, or its JSON text, which clients of the original interface send. */
export function ArrayOrText({ maxLength, ...options }: { maxLength: number } & Record<string, unknown>) {
  return Type.Unsafe<string | unknown[]>({
    type: ["string", "array"],
    maxLength,
    items: { type: "object" },
    ...options,
  });
}

/** An object with any names and with strings as values. */
export function StringMap({ maxLength, ...options }: { maxLength: number } & Record<string, unknown>) {
  return Type.Unsafe<Record<string, string>>(
    Type.Object({}, { additionalProperties: Type.String({ maxLength }), ...options }),
  );
}
