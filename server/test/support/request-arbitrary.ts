import fc from "fast-check";
import { isRecord } from "../../src/http/lenient.ts";
import { isReference, type JsonSchema, type OpenApiDocument, type Operation } from "../../src/http/openapi/document.ts";

/** Requests made up from the OpenAPI document: mostly right, some wrong in one place, some wrong altogether. */
export interface FuzzedRequest {
  operationId: string;
  template: string;
  /** The operation's own method and path, so that a 200 is this operation's reply. */
  isOwnRoute: boolean;
  method: string;
  params: Record<string, string>;
  suffix: string;
  query: [string, string][];
  headers: Record<string, string>;
  token: "admin" | "operator" | "nobody" | "garbage" | "none";
  body: string | undefined;
}

/** Stands for an object that the caller has; the sender puts in its id. */
export const OWN = "@own";

export interface ListedOperation {
  template: string;
  method: string;
  operation: Operation;
}

export function operationsOf(document: OpenApiDocument): ListedOperation[] {
  return Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => ({ template, method: method.toUpperCase(), operation })),
  );
}

const METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"];

export function requestArbitrary(document: OpenApiDocument): fc.Arbitrary<FuzzedRequest> {
  const valueOf = schemaArbitrary(document);
  return fc.constantFrom(...operationsOf(document)).chain(({ template, method, operation }) => {
    const parameters = (operation.parameters ?? []).flatMap((each) => (isReference(each) ? [] : [each]));
    const placed = (place: string) => parameters.filter((each) => each.in === place);
    const bodySchema = operation.requestBody?.content["application/json"].schema;
    return fc
      .record({
        method: mostly(fc.constant(method), fc.constantFrom(...METHODS)),
        params: fc.record(
          Object.fromEntries(
            placed("path").map(({ name, schema }) => [
              name,
              pathValue(mostly(fc.oneof(fc.constant(OWN), valueOf(schema)), broken)),
            ]),
          ),
        ),
        suffix: mostly(fc.constant(""), fc.constantFrom("/", ".json", "?", "//", "/%zz", "/x", "%00")),
        query: queryArbitrary(
          Object.fromEntries(placed("query").map(({ name, schema }) => [name, mostly(valueOf(schema), broken)])),
        ),
        headers: headersArbitrary,
        token: fc.constantFrom(...TOKENS),
        body: bodyArbitrary(bodySchema === undefined ? undefined : valueOf(bodySchema)),
      })
      .map((request) => ({
        ...request,
        operationId: operation.operationId,
        template,
        isOwnRoute:
          request.method === method &&
          ["", "/", ".json", "?", "//"].includes(request.suffix) &&
          !Object.values(request.params).includes(""),
      }));
  });
}

const TOKENS = [
  ...Array.from({ length: 16 }, () => "admin" as const),
  ...Array.from({ length: 2 }, () => "operator" as const),
  "nobody" as const,
  "garbage" as const,
  "none" as const,
];

function mostly<T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: rare });
}

/** What breaks parsers, validators and databases. */
const broken: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    "",
    " ",
    -1,
    0,
    1.5,
    2 ** 53,
    1e308,
    -0,
    "99999999999999999999",
    "1e5",
    "NaN",
    "\u0000",
    "\ud800",
    "x".repeat(300),
    "x".repeat(70_000),
    "'; drop table account; --",
    "%s%n",
    "../../etc/passwd",
    "a,b,,c",
    "1,2,2,1",
    "é\u202e\ufeff😀",
    "\\",
    '"',
    true,
    [],
    {},
    [null],
    [[[]]],
    { __proto__: { x: 1 } },
    { constructor: { prototype: 1 } },
    OWN,
    `${OWN},${OWN}`,
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.jsonValue({ maxDepth: 3 }),
);

type ValueOf = (schema: JsonSchema) => fc.Arbitrary<unknown>;

function schemaArbitrary(document: OpenApiDocument): ValueOf {
  const valueOf: ValueOf = (schema) => {
    if (isReference(schema)) return valueOf(document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
    const { examples, enum: values, type, anyOf } = schema;
    if (Array.isArray(values)) return fc.constantFrom<unknown>(...values);
    if (Array.isArray(anyOf)) return fc.oneof(...anyOf.filter(isRecord).map(valueOf));
    const plain = typedArbitrary(Array.isArray(type) ? type[0] : type, schema, valueOf);
    if (!Array.isArray(examples)) return plain;
    return fc.oneof({ weight: 3, arbitrary: fc.constantFrom<unknown>(...examples) }, { weight: 1, arbitrary: plain });
  };
  return valueOf;
}

function typedArbitrary(type: unknown, schema: JsonSchema, valueOf: ValueOf): fc.Arbitrary<unknown> {
  switch (type) {
    case "object":
      return objectArbitrary(schema, valueOf);
    case "array":
      return fc.array(valueOf(isRecord(schema.items) ? schema.items : {}), { maxLength: 4 });
    case "integer": {
      const min = Number(schema.minimum ?? 0);
      const integers = fc.integer({ min, max: Math.min(Number(schema.maximum ?? 1000), min + 200) });
      return fc.oneof(integers, integers.map(String));
    }
    case "boolean":
      return fc.constantFrom<unknown>(true, false, "True", "false", 1);
    case "string":
      return fc.oneof(
        fc.constant(OWN),
        fc.string({ minLength: Number(schema.minLength ?? 0), maxLength: 12 }),
        fc.string({ unit: "grapheme", maxLength: 12 }),
        fc.integer({ min: 1, max: 100 }),
      );
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** Right in every field, but one in four has a field that is broken, and one in twelve lacks one. */
function objectArbitrary(schema: JsonSchema, valueOf: ValueOf): fc.Arbitrary<unknown> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const fields = Object.entries(properties).filter((entry): entry is [string, JsonSchema] => isRecord(entry[1]));
  const needed = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const optional = fields.map(([name]) => name).filter((name) => !needed.includes(name));
  const known = fc
    .tuple(
      fc.record(Object.fromEntries(fields.map(([name, inner]) => [name, valueOf(inner)]))),
      fc.subarray(optional, { maxLength: Math.min(optional.length, 3) }),
    )
    .map(([all, chosen]) =>
      Object.fromEntries(Object.entries(all).filter(([name]) => needed.includes(name) || chosen.includes(name))),
    );
  const rest = isRecord(schema.additionalProperties)
    ? fc.dictionary(fc.string({ maxLength: 8 }), valueOf(schema.additionalProperties), { maxKeys: 3 })
    : fc.constant({});
  return fc.tuple(known, rest, fc.nat(11), fc.nat(99), broken).map(([fixed, free, fate, which, wrong]) => {
    const entries: [string, unknown][] = Object.entries({ ...free, ...fixed });
    const at = entries.length === 0 ? 0 : which % entries.length;
    if (fate === 0) entries.splice(at, 1);
    else if (fate <= 3) entries[at] = [entries[at]?.[0] ?? "x", wrong];
    return Object.fromEntries(entries);
  });
}

function pathValue(values: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return values.map((value) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    // An unpaired surrogate has no percent-encoding at all.
    return text.toWellFormed().slice(0, 6000);
  });
}

function queryArbitrary(known: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<[string, string][]> {
  const value = (values: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
    pathValue(values).map((text) => text.slice(0, 1000));
  const fields = fc.record(Object.fromEntries(Object.entries(known).map(([name, values]) => [name, value(values)])), {
    requiredKeys: [],
  });
  const others = mostly<[string, string][]>(
    fc.constant([]),
    fc.array(fc.tuple(fc.string({ maxLength: 5 }), value(broken)), { maxLength: 3 }),
  );
  return fc
    .tuple(fields, others)
    .map(([fixed, free]): [string, string][] => [
      ...Object.entries(fixed).map(([name, text]): [string, string] => [name, text ?? ""]),
      ...free,
    ]);
}

const headerText = fc
  .string({
    unit: fc.constantFrom("a", "Z", "0", "9", " ", "-", "_", ".", ",", ";", "=", "/", "*", '"', "'"),
    maxLength: 40,
  })
  .map((text) => text.trim());

const headersArbitrary: fc.Arbitrary<Record<string, string>> = fc.record(
  {
    "Content-Type": fc.oneof(fc.constant("application/json"), headerText),
    Accept: fc.oneof(fc.constant("application/json"), headerText),
    "Idempotency-Key": fc.oneof(fc.constantFrom("a", "b", "x".repeat(300)), headerText),
    "X-Request-Id": headerText,
    "X-Forwarded-For": headerText,
  },
  { requiredKeys: [] },
);

function bodyArbitrary(valid: fc.Arbitrary<unknown> | undefined): fc.Arbitrary<string | undefined> {
  const json = (values: fc.Arbitrary<unknown>): fc.Arbitrary<string | undefined> =>
    values.map((value) => JSON.stringify(value));
  return mostly(
    valid === undefined ? fc.constant(undefined) : json(valid),
    fc.oneof(
      fc.constantFrom(undefined, "", "{", "null", "[]", "\ufeff{}", '{"a":1,"a":2}', "[".repeat(500)),
      json(broken),
    ),
  );
}
