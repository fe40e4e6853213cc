import type { TObject } from "typebox";
import { isRecord } from "../../src/lib/is-record.ts";

/** The minimal input of a schema: required fields only, with the schema's examples where there are some. */
export function sampleObject(schema: TObject | undefined): Record<string, unknown> {
  const value = schema === undefined ? {} : sampleValue(JSON.parse(JSON.stringify(schema)));
  return isRecord(value) ? value : {};
}

function sampleValue(schema: unknown): unknown {
  if (!isRecord(schema)) return null;
  const { examples, enum: values, type } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (Array.isArray(values)) return values[0];
  if ("const" in schema) return schema.const;
  if ("default" in schema) return schema.default;
  switch (type) {
    case "object":
      return sampleProperties(schema);
    case "array":
      return Array.from({ length: Number(schema.minItems ?? 0) }, () => sampleValue(schema.items));
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return false;
    default:
      return "x".repeat(Number(schema.minLength ?? 1));
  }
}

function sampleProperties({ properties, required }: Record<string, unknown>): Record<string, unknown> {
  const needed: unknown[] = Array.isArray(required) ? required : [];
  const entries = Object.entries(isRecord(properties) ? properties : {});
  return Object.fromEntries(
    entries.filter(([key]) => needed.includes(key)).map(([key, property]) => [key, sampleValue(property)]),
  );
}

/** The newest path of an endpoint with values for its parameters. */
export function filledPath(
  { paths }: { paths: Partial<Record<"v1" | "v1.2" | "v2", string>> },
  params: Record<string, string>,
): string {
  const [version, path] =
    (["v2", "v1.2", "v1"] as const)
      .map((each): [string, string | undefined] => [each, paths[each]])
      .find(([, found]) => found !== undefined) ?? [];
  if (path === undefined) throw new Error("the endpoint has no path");
  const filled = path.replaceAll(/:(\w+)/g, (_match, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`no value for the path parameter ${name} of ${path}`);
    return encodeURIComponent(value);
  });
  return `/api/${version}${filled}`;
}

export function pathParameters({ paths }: { paths: Partial<Record<string, string>> }): string[] {
  const names = Object.values(paths).flatMap((path) => [...(path ?? "").matchAll(/:(\w+)/g)].map(([, name]) => name));
  return [...new Set(names)].filter((name) => name !== undefined);
}
