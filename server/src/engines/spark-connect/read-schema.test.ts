import { setImmediate as nextTurn } from "node:timers/promises";
import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { deepSchema, emptyMessages, field, wideSchema } from "../../../test/support/hostile-messages.ts";
import { ConnectError } from "./connect-error.ts";
import { ExecutePlanResponseSchema } from "./messages/base_pb.ts";
import { DataTypeSchema } from "./messages/types_pb.ts";
import { readMessage } from "./read-message.ts";
import { readSchema } from "./read-schema.ts";
import type { SparkType } from "./spark-type.ts";

type Message = MessageInitShape<typeof DataTypeSchema>;
type Kind = NonNullable<Message["kind"]>;
/** A type as Spark sends it, and as it must be read. */
type Example = readonly [Kind, SparkType];

const MIB = 1024 * 1024;
const MAX_INT = 2 ** 31 - 1;

const examples: readonly Example[] = [
  [{ case: "null", value: {} }, { kind: "void" }],
  [{ case: "boolean", value: {} }, { kind: "boolean" }],
  [{ case: "byte", value: {} }, { kind: "tinyint" }],
  [{ case: "short", value: {} }, { kind: "smallint" }],
  [{ case: "integer", value: {} }, { kind: "int" }],
  [{ case: "long", value: {} }, { kind: "bigint" }],
  [{ case: "float", value: {} }, { kind: "float" }],
  [{ case: "double", value: {} }, { kind: "double" }],
  [{ case: "binary", value: {} }, { kind: "binary" }],
  [{ case: "date", value: {} }, { kind: "date" }],
  [{ case: "timestamp", value: {} }, { kind: "timestamp" }],
  [{ case: "timestampNtz", value: {} }, { kind: "timestamp_ntz" }],
  [{ case: "calendarInterval", value: {} }, { kind: "interval" }],
  [{ case: "variant", value: {} }, { kind: "variant" }],
  [{ case: "string", value: {} }, { kind: "string" }],
  [{ case: "string", value: { collation: "UTF8_BINARY" } }, { kind: "string" }],
  [
    { case: "string", value: { collation: "de_CI_AI" } },
    { kind: "string", collation: "de_CI_AI" },
  ],
  [
    { case: "char", value: {} },
    { kind: "char", length: 0 },
  ],
  [
    { case: "char", value: { length: 300 } },
    { kind: "char", length: 300 },
  ],
  [
    { case: "varChar", value: { length: MAX_INT } },
    { kind: "varchar", length: MAX_INT },
  ],
  [
    { case: "decimal", value: {} },
    { kind: "decimal", precision: 10, scale: 0 },
  ],
  [
    { case: "decimal", value: { precision: 38, scale: -5 } },
    { kind: "decimal", precision: 38, scale: -5 },
  ],
  [
    { case: "decimal", value: { precision: 0, scale: 18 } },
    { kind: "decimal", precision: 0, scale: 18 },
  ],
  [
    { case: "time", value: {} },
    { kind: "time", precision: 6 },
  ],
  [
    { case: "time", value: { precision: 0 } },
    { kind: "time", precision: 0 },
  ],
  [
    { case: "yearMonthInterval", value: {} },
    { kind: "interval year month", from: "year", to: "month" },
  ],
  [
    { case: "yearMonthInterval", value: { startField: 1, endField: 1 } },
    { kind: "interval year month", from: "month", to: "month" },
  ],
  [
    { case: "dayTimeInterval", value: {} },
    { kind: "interval day time", from: "day", to: "second" },
  ],
  [
    { case: "dayTimeInterval", value: { startField: 1, endField: 2 } },
    { kind: "interval day time", from: "hour", to: "minute" },
  ],
  [
    { case: "udt", value: {} },
    { kind: "udt", name: "udt", sqlType: undefined },
  ],
  [
    { case: "udt", value: { pythonClass: "p" } },
    { kind: "udt", name: "p", sqlType: undefined },
  ],
  [
    { case: "udt", value: { jvmClass: "", pythonClass: "p" } },
    { kind: "udt", name: "", sqlType: undefined },
  ],
  [
    { case: "struct", value: {} },
    { kind: "struct", fields: [] },
  ],
];

const name = fc.oneof(fc.constant(""), anyText(), anyText({ minLength: 100, maxLength: 300 }));

const { type: anyType } = fc.letrec<{ type: Example }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom(...examples),
    fc.tuple(tie("type"), fc.boolean()).map(([[kind, element], containsNull]): Example => [
      { case: "array", value: { elementType: { kind }, containsNull } },
      { kind: "array", element, containsNull },
    ]),
    fc
      .tuple(tie("type"), tie("type"), fc.boolean())
      .map(([[keyKind, key], [kind, value], valueContainsNull]): Example => [
        { case: "map", value: { keyType: { kind: keyKind }, valueType: { kind }, valueContainsNull } },
        { kind: "map", key, value, valueContainsNull },
      ]),
    fc.tuple(tie("type"), name).map(([[kind, sqlType], jvmClass]): Example => [
      { case: "udt", value: { jvmClass, pythonClass: "p", sqlType: { kind } } },
      { kind: "udt", name: jvmClass, sqlType },
    ]),
    fc.array(fc.tuple(name, tie("type"), fc.boolean()), { maxLength: 5 }).map((fields): Example => [
      {
        case: "struct",
        value: { fields: fields.map(([of, [kind], nullable]) => ({ name: of, dataType: { kind }, nullable })) },
      },
      { kind: "struct", fields: fields.map(([of, [, type], nullable]) => ({ name: of, type, nullable })) },
    ]),
  ),
}));

function written(kind: Kind): Uint8Array {
  return toBinary(DataTypeSchema, create(DataTypeSchema, { kind }));
}

function withColumn(kind: Kind): Uint8Array {
  return written({ case: "struct", value: { fields: [{ name: "c", dataType: { kind }, nullable: true }] } });
}

function schemaOf(response: Uint8Array): Uint8Array {
  return readMessage(ExecutePlanResponseSchema, response).message.schema;
}

function read(response: Uint8Array): ReturnType<typeof readSchema> {
  return readSchema(schemaOf(response));
}

/** The error must be one that fails the statement. */
async function refusal(schema: Uint8Array): Promise<string> {
  try {
    await readSchema(schema);
  } catch (error) {
    if (error instanceof ConnectError) return error.message;
    throw error;
  }
  return "";
}

const [STRUCT, FIELDS, NAME, DATA_TYPE, NULLABLE, METADATA] = [21, 1, 1, 2, 3, 4];
const [INTEGER, LONG, STRING, FUTURE] = [6, 7, 11, 99];
const empty = Buffer.alloc(0);
const number = (of: number, value: number): Buffer => Buffer.from([of * 8, value]);
const column = (...parts: readonly Buffer[]): Buffer => field(STRUCT, field(FIELDS, Buffer.concat(parts)));
const ofType = (of: number): Buffer => field(DATA_TYPE, field(of, empty));

describe("a schema", () => {
  it("has an example of every kind of type that results can have", () => {
    const nested = ["array", "map"];
    const refused = ["geometry", "geography"];
    const kinds = new Set<string | undefined>([...examples.map(([{ case: of }]) => of), ...nested, ...refused]);
    expect(kinds).toEqual(new Set(DataTypeSchema.fields.map(({ localName }) => localName)));
  });

  it.each(examples)("is read with a column of %j", async (kind, type) => {
    expect(await readSchema(withColumn(kind))).toStrictEqual([{ name: "c", type, nullable: true }]);
  });

  it("is read as protobuf writes it, however nested", async () => {
    await fc.assert(
      fc.asyncProperty(anyType, async ([kind, type]) => {
        expect(await readSchema(withColumn(kind))).toStrictEqual([{ name: "c", type, nullable: true }]);
      }),
    );
  });

  it("may have 20000 fields", async () => {
    expect(await read(wideSchema(20_000))).toHaveLength(20_000);
    await expect(read(wideSchema(20_001))).rejects.toThrow("a schema of more than 20000 fields");
  });

  it("may have 2 MiB, besides what is skipped", async () => {
    const metadata = field(METADATA, Buffer.alloc(3 * MIB));
    const large = column(field(NAME, Buffer.alloc(2 * MIB - 100, "x")), ofType(LONG), metadata);
    expect(await readSchema(large)).toHaveLength(1);
    await expect(read(wideSchema(1, "x".repeat(2 * MIB)))).rejects.toThrow("a schema of more than 2048 KiB");
  });

  it("may have 100 levels", async () => {
    expect(await read(deepSchema(100))).toHaveLength(1);
    await expect(read(deepSchema(101))).rejects.toThrow("a schema of more than 100 levels");
  });

  it.each<[string, Uint8Array]>([
    ["columns", schemaOf(wideSchema(10_000))],
    ["fields in one column", column(field(DATA_TYPE, Buffer.from(schemaOf(wideSchema(10_000)))))],
    ["unknown fields in one type", column(field(DATA_TYPE, field(STRING, emptyMessages(FUTURE, 40_000))))],
  ])("of many %s is read in turns", async (_, schema) => {
    let [isRead, turns] = [false, 0];
    const reading = readSchema(schema).finally(() => (isRead = true));
    for (; !isRead; turns += 1) await nextTurn();
    await reading;
    expect(turns).toBeGreaterThanOrEqual(40);
  });

  it("that takes several turns is read whole", async () => {
    const names = Array.from({ length: 2000 }, (_, index) => `c${index}`);
    const long: Kind = { case: "long", value: {} };
    const fields = names.map((name) => ({ name, dataType: { kind: long }, nullable: true }));
    expect(await readSchema(withColumn({ case: "struct", value: { fields } }))).toStrictEqual([
      {
        name: "c",
        type: { kind: "struct", fields: names.map((name) => ({ name, type: { kind: "bigint" }, nullable: true })) },
        nullable: true,
      },
    ]);
  });

  it("has the last value of a field that is sent twice", async () => {
    const twice = [ofType(LONG), field(NAME, Buffer.from("a")), field(NAME, Buffer.from("b"))];
    const type = field(DATA_TYPE, Buffer.concat([field(INTEGER, empty), field(STRING, empty)]));
    expect(await readSchema(column(...twice, type))).toEqual([
      { name: "b", type: { kind: "string" }, nullable: false },
    ]);
  });
});

describe("a geometry or a geography in a schema", () => {
  it.each(["geometry", "geography"] as const)("is refused by name: %s", async (of) => {
    const array: Kind = { case: "array", value: { elementType: { kind: { case: of, value: {} } } } };
    for (const kind of [{ case: of, value: {} } as const, array]) {
      expect(await refusal(withColumn(kind))).toBe(
        `Results cannot have columns of the type ${of}: convert them with ST_AsBinary`,
      );
    }
  });
});

describe("a malformed schema", () => {
  it("is refused wherever it is truncated", async () => {
    const whole = withColumn({ case: "map", value: { keyType: { kind: { case: "string", value: {} } } } });
    for (let length = 0; length < whole.length; length += 1) {
      expect(await refusal(whole.subarray(0, length)), `${length} bytes`).not.toBe("");
    }
  });

  it("is refused or read, but never breaks Headgate", async () => {
    const changed = fc.tuple(anyType, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(changed, async ([[kind], changes]) => {
        const bytes = withColumn(kind);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        await refusal(bytes);
      }),
    );
  });

  it.each([
    ["a type of no kind", column(field(DATA_TYPE, empty)), "a column of a type that Headgate does not know"],
    ["a type of a future kind", column(ofType(FUTURE)), "a column of a type that Headgate does not know"],
    ["a column without a type", column(field(NAME, empty)), "a column of a type that Headgate does not know"],
    ["a name that is a number", column(number(NAME, 1), ofType(LONG)), "field 1 has a wrong type"],
    ["a flag with a length", column(field(NULLABLE, empty), ofType(LONG)), "field 3 has a wrong type"],
    ["a kind that is a number", column(field(DATA_TYPE, number(INTEGER, 0))), "field 6 has a wrong type"],
    ["a name that is not UTF-8", column(field(NAME, Buffer.from([0xff])), ofType(LONG)), "cannot be read"],
    ["a field beyond its message", column(Buffer.from([0x0a, 9])), "field 1 is longer than its message"],
    ["a group", column(Buffer.from([0x2b])), "wire type 3 is not used by Spark"],
    ["unknown units", withColumn({ case: "dayTimeInterval", value: { endField: 4 } }), "unknown units: 0 to 4"],
    ["no columns", written({ case: "long", value: {} }), "A result of type bigint has no columns"],
    ["fields that are repeated", column(emptyMessages(NAME, 200_000)), "a schema of more than 20000 fields"],
    ["fields that are unknown", column(emptyMessages(METADATA, 200_000)), "a schema of more than 20000 fields"],
  ])("is refused: %s", async (_, schema, message) => {
    expect(await refusal(schema)).toContain(message);
  });
});
