import {
  Binary,
  Bool,
  DateDay,
  Field,
  Float64,
  Int32,
  Int64,
  List,
  Map_,
  Null,
  Struct,
  tableFromIPC,
  Utf8,
  vectorFromArray,
  type Vector,
} from "apache-arrow";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { received, streamOf, type GivenBatch } from "../../../test/support/arrow-streams.ts";
import { bytesOf, useRendered } from "../../../test/support/rendered-result.ts";

const texts = ["plain", "", null, 'say "so"', "a,b", "two\r\nlines", "tab\there", "größe 😀"];

function batchOf(columns: Record<string, Vector>): GivenBatch {
  return { data: streamOf(columns), rows: Object.values(columns)[0]?.length ?? 0 };
}

const sample = batchOf({
  id: vectorFromArray(
    texts.map((_, i) => i),
    new Int32(),
  ),
  "a,b": vectorFromArray(texts, new Utf8()),
});

describe("a result", () => {
  const { spooled, rendered } = useRendered();

  test("as text has tabs between columns and CR LF after each row", async () => {
    const batches = received([sample]);
    const lines = texts.map((text, i) => `${i}\t${text ?? "NULL"}\r\n`).join("");
    expect(await rendered(batches, [], { format: "text" })).toBe(lines);
    expect(await rendered(batches, [], { format: "text", includeHeaders: true })).toBe(`id\ta,b\r\n${lines}`);
  });

  test("as raw text has ^A between columns", async () => {
    const lines = texts.map((text, i) => `${i}\u0001${text ?? "NULL"}\r\n`).join("");
    const raw = await rendered(received([sample]), [], { format: "raw", includeHeaders: true });
    expect(raw).toBe(`id\u0001a,b\r\n${lines}`);
  });

  test("as CSV distinguishes null from an empty string", async () => {
    const csv = await rendered(received([sample]), [], { format: "csv", includeHeaders: true });
    expect(csv).toBe(
      [
        'id,"a,b"',
        "0,plain",
        '1,""',
        "2,",
        '3,"say ""so"""',
        '4,"a,b"',
        '5,"two\r\nlines"',
        "6,tab\there",
        "7,größe 😀",
        "",
      ].join("\r\n"),
    );
  });

  test("as JSON is an array of objects", async () => {
    const json = await rendered(received([sample]), [], { format: "json" });
    expect(JSON.parse(json)).toEqual(texts.map((text, id) => ({ id, "a,b": text })));
    expect(json.startsWith('[\n{"id":0,"a,b":"plain"},\n')).toBe(true);
  });

  test("as JSON has exact numbers, and strings for values that JSON cannot represent", async () => {
    const batch = batchOf({
      long: vectorFromArray([9007199254740993n, null], new Int64()),
      double: vectorFromArray([NaN, -Infinity], new Float64()),
      small: vectorFromArray([1e-7, 1e21], new Float64()),
      day: vectorFromArray([new Date("2024-02-29T00:00:00Z"), null], new DateDay()),
      bytes: vectorFromArray([Uint8Array.of(0, 255), null], new Binary()),
      flag: vectorFromArray([true, false], new Bool()),
      nothing: vectorFromArray([null, null], new Null()),
    });
    expect(await rendered(received([batch]), [], { format: "json" })).toBe(
      `[\n{"long":9007199254740993,"double":"NaN","small":1.0E-7,"day":"2024-02-29","bytes":"AP8=","flag":true,"nothing":null},\n` +
        `{"long":null,"double":"-Infinity","small":1.0E21,"day":null,"bytes":null,"flag":false,"nothing":null}\n]\n`,
    );
  });

  test("as JSON has nested objects and arrays for nested values", async () => {
    const entry = new Struct<{ key: Int32; value: Utf8 }>([
      new Field("key", new Int32(), false),
      new Field("value", new Utf8(), true),
    ]);
    const batch = batchOf({
      list: vectorFromArray([["a", null, '"'], []], new List(new Field("element", new Utf8(), true))),
      map: vectorFromArray(
        [
          new Map([
            [2, "b"],
            [1, null],
          ]),
          new Map(),
        ],
        new Map_(new Field("entries", entry, false)),
      ),
      struct: vectorFromArray([{ "a b": 1 }, null], new Struct([new Field("a b", new Int32(), true)])),
    });
    expect(JSON.parse(await rendered(received([batch]), [], { format: "json" }))).toEqual([
      { list: ["a", null, '"'], map: { 1: null, 2: "b" }, struct: { "a b": 1 } },
      { list: [], map: {}, struct: null },
    ]);
  });

  test("as Arrow is one stream with all batches", async () => {
    const stream = await rendered(received([sample, sample], 2), [], { format: "arrow" }, "latin1");
    const table = tableFromIPC(Buffer.from(stream, "latin1"));
    expect(table.numRows).toBe(2 * texts.length);
    expect([...(table.getChild("a,b") ?? [])]).toEqual([...texts, ...texts]);
  });

  test("without rows is empty in every format", async () => {
    const none = batchOf({
      a: vectorFromArray([] as number[], new Int32()),
      b: vectorFromArray([] as string[], new Utf8()),
    });
    const result = await spooled(received([none]));
    expect(bytesOf(result, { format: "text" }).toString()).toBe("");
    expect(bytesOf(result, { format: "text", includeHeaders: true }).toString()).toBe("a\tb\r\n");
    expect(bytesOf(result, { format: "csv" }).toString()).toBe("");
    expect(JSON.parse(bytesOf(result, { format: "json" }).toString())).toEqual([]);
    expect(tableFromIPC(bytesOf(result, { format: "arrow" })).schema.fields.map(({ name }) => name)).toEqual([
      "a",
      "b",
    ]);
  });

  test("can be escaped for use inside a JSON string", async () => {
    const batches = received([sample]);
    const text = await rendered(batches, [], { format: "text" });
    const inside = await rendered(batches, [], { format: "text", escaped: true });
    expect(JSON.parse(`"${inside}"`)).toBe(text);
  });

  test("shows bytes that are not UTF-8 as U+FFFD, in each value separately", async () => {
    const [euro, broken] = [Buffer.from("€"), Buffer.from([0x61, 0xff, 0x62])];
    // The first two values are the halves of one character.
    const batch = batchOf({ b: vectorFromArray([euro.subarray(0, 1), euro.subarray(1), broken], new Binary()) });
    const text = await rendered(received([batch]), [], { format: "text" });
    expect(text.split("\r\n").slice(0, 3)).toEqual(["\uFFFD", "\uFFFD\uFFFD", "a\uFFFDb"]);
  });

  describe("with many batches", () => {
    const numbers = Array.from({ length: 100 }, (_, i) => i);
    const batches = received(
      numbers.map((n) => batchOf({ n: vectorFromArray([n * 3, n * 3 + 1, n * 3 + 2].slice(0, n % 4), new Int32()) })),
    );
    const all = numbers.flatMap((n) => [n * 3, n * 3 + 1, n * 3 + 2].slice(0, n % 4));

    test("can be read from any row, up to any number of rows", async () => {
      const result = await spooled(batches);
      fc.assert(
        fc.property(fc.nat(all.length + 10), fc.nat(all.length + 10), (fromRow, rowLimit) => {
          const text = bytesOf(result, { format: "text", fromRow, rowLimit }).toString();
          expect(text).toBe(
            all
              .slice(fromRow, fromRow + rowLimit)
              .map((n) => `${n}\r\n`)
              .join(""),
          );
        }),
        { numRuns: 200 },
      );
    });
  });

  test("is complete if its rows span several chunks", async () => {
    const long = Array.from({ length: 40 }, (_, i) => String.fromCharCode(65 + (i % 26)).repeat(i * 1000));
    const given = batchOf({ s: vectorFromArray(long, new Utf8()) });
    const text = await rendered(received([given, given]), [], { format: "text" });
    expect(text).toBe([...long, ...long].map((line) => `${line}\r\n`).join(""));
  });

  test("with arbitrary values equals the output of a simple formatter", async () => {
    const value = fc.record({
      long: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      text: fc.option(fc.string({ unit: "grapheme" })),
      list: fc.option(fc.array(fc.option(fc.integer()))),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(value, { maxLength: 20 }), { minLength: 1, maxLength: 4 }), async (groups) => {
        const batches = groups.map((group) =>
          batchOf({
            long: vectorFromArray(
              group.map(({ long }) => long),
              new Int64(),
            ),
            text: vectorFromArray(
              group.map(({ text }) => text),
              new Utf8(),
            ),
            list: vectorFromArray(
              group.map(({ list }) => list),
              new List(new Field("element", new Int32(), true)),
            ),
          }),
        );
        const rows = groups.flat();
        const lists = rows.map(({ list }) => (list === null ? "NULL" : `[${list.map((n) => n ?? "null").join(",")}]`));
        const lines = rows.map(({ long, text }, i) => `${long ?? "NULL"}\t${text ?? "NULL"}\t${lists[i] ?? ""}\r\n`);
        expect(await rendered(received(batches), [], { format: "text" })).toBe(lines.join(""));
        expect(readCsv(await rendered(received(batches), [], { format: "csv" }))).toEqual(
          rows.map(({ long, text, list }, i) => [
            long === null ? null : String(long),
            text,
            list === null ? null : lists[i],
          ]),
        );
      }),
      { numRuns: 100 },
    );
  });
});

/** A parser of RFC 4180. An empty field without quotes is null. */
function readCsv(csv: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  for (let at = 0; at < csv.length;) {
    const row: (string | null)[] = [];
    for (let goesOn = true; goesOn;) {
      const [all = "", inQuotes, plain = ""] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))/.exec(csv.slice(at)) ?? [];
      row.push(inQuotes === undefined ? plain || null : inQuotes.replaceAll('""', '"'));
      at += all.length;
      goesOn = csv.charAt(at) === ",";
      at += goesOn ? 1 : 2;
    }
    rows.push(row);
  }
  return rows;
}
