import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { isExhaustive } from "../../../../test/support/exhaustive.ts";
import { ByteSink, writeValue } from "./write-value.ts";
import { ByteSource, type Reading } from "./byte-source.ts";
import { CallRefused, readReply } from "./message.ts";
import { readValue } from "./read-value.ts";
import {
  ThriftError,
  bool,
  byte,
  double,
  i16,
  i32,
  i64,
  list,
  map,
  optional,
  required,
  string,
  struct,
  type ThriftType,
  type ThriftValue,
} from "./thrift-type.ts";

const inner = struct({ name: required(1, string), count: optional(7, i32) });
const everything = struct({
  flag: optional(1, bool),
  small: optional(2, byte),
  short: optional(3, i16),
  long: optional(-4, i64),
  ratio: optional(300, double),
  inner: optional(5, inner),
  list: optional(6, list(list(string))),
  map: optional(7, map(string, inner)),
  byList: optional(8, map(list(string), i32)),
});
type Everything = ThriftValue<typeof everything>;

const text = fc.string({ unit: "grapheme", maxLength: 40 });
const innerValue = fc.record({ name: text, count: fc.option(fc.integer(), { nil: undefined }) });
const anything: fc.Arbitrary<Everything> = fc.record(
  {
    flag: fc.boolean(),
    small: fc.integer({ min: -128, max: 127 }),
    short: fc.integer({ min: -32_768, max: 32_767 }),
    long: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    ratio: fc.double(),
    inner: innerValue,
    list: fc.array(fc.array(text)),
    map: fc.array(fc.tuple(text, innerValue)).map((entries) => new Map(entries)),
    byList: fc.array(fc.tuple(fc.array(text), fc.integer())).map((entries) => new Map(entries)),
  },
  { requiredKeys: [] },
);

test("a written value is read back unchanged, however the network splits it", () => {
  fc.assert(
    fc.property(anything, fc.array(fc.nat(200)), (value, cuts) => {
      const bytes = written(everything, value);
      expect(read(everything, pieces(bytes, cuts))).toEqual(value);
    }),
  );
});

test("unknown fields are skipped", () => {
  const fewer = struct({ short: optional(3, i16), list: optional(6, list(list(string))) });
  fc.assert(
    fc.property(anything, fc.array(fc.nat(200)), (value, cuts) => {
      const { short, list } = value;
      expect(read(fewer, pieces(written(everything, value), cuts))).toEqual({ short, list });
    }),
  );
});

test("a field of an unexpected type is skipped; a missing required field is an error", () => {
  const other = struct({ flag: optional(1, string), name: optional(2, string) });
  expect(read(other, [written(everything, { flag: true, small: 7 })])).toEqual({});
  expect(() => read(inner, [written(everything, { flag: true })])).toThrow("the message has no field name");
});

test("arbitrary bytes are a value, an incomplete value or an error, within the budget", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.array(fc.nat(100)), (bytes, cuts) => {
      const source = new ByteSource(4096);
      const reading = readReply(source, { name: "f", outcome: everything }, 1);
      const found = attempt(() => feed(source, reading, pieces(Buffer.from(bytes), cuts)));
      expect(found === undefined || found instanceof ThriftError || found instanceof CallRefused).toBe(true);
    }),
    { numRuns: isExhaustive ? 2000 : 500 },
  );
});

test("a corrupted message is a value, an incomplete value or an error, within the budget", () => {
  fc.assert(
    fc.property(anything, fc.nat(), fc.nat(255), (value, position, byte) => {
      const bytes = written(everything, value);
      bytes[position % bytes.length] = byte;
      const source = new ByteSource(64 * 1024);
      const failure = attempt(() => feed(source, readValue(source, everything), [bytes]));
      expect(failure === undefined || failure instanceof ThriftError).toBe(true);
    }),
    { numRuns: isExhaustive ? 2000 : 500 },
  );
});

describe("a budget", () => {
  const limited = (bytes: Buffer, budget: number): unknown => {
    const source = new ByteSource(budget);
    return feed(source, readValue(source, struct({ list: optional(1, list(inner)) })), [bytes]);
  };

  test("covers the memory of values, not only their bytes", () => {
    const nothing = struct({ list: optional(1, list(struct({}))) });
    const bytes = written(nothing, { list: Array.from({ length: 1000 }, () => ({})) });
    expect(bytes.length).toBeLessThan(1100);
    const source = new ByteSource(16_000);
    expect(() => feed(source, readValue(source, nothing), [bytes])).toThrow("exceeds the size limit");
  });

  test("is checked before the bytes arrive", () => {
    const huge = Buffer.from("0f00010c000000010b00017fffffff", "hex");
    expect(() => limited(huge, 1_000_000)).toThrow("exceeds the size limit");
  });
});

test("a long string in many chunks is joined", () => {
  const type = struct({ text: required(1, string) });
  const long = "ä".repeat(4_000_000);
  const bytes = written(type, { text: long });
  expect(read(type, pieces(bytes, Array(8000).fill(1000)))).toEqual({ text: long });
});

test("the TypeScript types of values follow from their descriptions", () => {
  expectTypeOf<ThriftValue<typeof inner>>().branded.toEqualTypeOf<{
    readonly name: string;
    readonly count?: number | undefined;
  }>();
  expectTypeOf<Everything["map"]>().branded.toEqualTypeOf<ReadonlyMap<string, ThriftValue<typeof inner>> | undefined>();
  expectTypeOf<Everything["long"]>().toEqualTypeOf<bigint | undefined>();
});

function written<T extends ThriftType>(type: T, value: ThriftValue<T>): Buffer {
  const sink = new ByteSink();
  writeValue(sink, type, value);
  return sink.written;
}

function read<T extends ThriftType>(type: T, chunks: readonly Buffer[]): ThriftValue<T> | undefined {
  const source = new ByteSource(100_000_000);
  const value = feed(source, readValue(source, type), chunks);
  expect(source.isEmpty).toBe(true);
  return value;
}

/** Undefined if the value is incomplete. */
function feed<T>(source: ByteSource, reading: Reading<T>, chunks: readonly Buffer[]): T | undefined {
  for (const chunk of chunks) {
    source.push(chunk);
    const step = reading.next();
    if (step.done === true) return step.value;
  }
  return undefined;
}

function attempt(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  for (const length of cuts) {
    found.push(bytes.subarray(at, at + length));
    at += length;
  }
  return [...found, bytes.subarray(at)];
}
