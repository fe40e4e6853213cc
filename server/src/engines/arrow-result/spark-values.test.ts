import { readFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";
import { describe, expect, test } from "vitest";
import type { CapturedValues } from "../../../generate/spark-values/capture.ts";
import { valueCases } from "../../../generate/spark-values/cases.ts";
import { received } from "../../../test/support/arrow-streams.ts";
import { useRendered } from "../../../test/support/rendered-result.ts";

// Written by `npm run generate:spark-values`: the batches that Spark sends and what its command line prints for them.
const file = new URL("./fixtures/spark-values.json", import.meta.url);
const captured = JSON.parse(readFileSync(file, "utf8")) as CapturedValues[];

describe("values from Spark are rendered as its command line prints them", () => {
  const { rendered } = useRendered();

  const batchesOf = ({ batches }: CapturedValues) =>
    received(batches.map(({ base64, rows }) => ({ data: Buffer.from(base64, "base64"), rows })));

  test("the fixture has every case", () => {
    expect(captured.map(({ name }) => name)).toEqual(valueCases.map(({ name }) => name));
  });

  test.each(captured.map((given) => [given.name, given] as const))("%s", async (_, given) => {
    const text = await rendered(batchesOf(given), given.columns, { format: "text" });
    expect(text.replaceAll("\r\n", "\n")).toBe(given.text);
  });

  test.each(captured.map((given) => [given.name, given] as const))("also as JSON and Arrow: %s", async (_, given) => {
    const batches = batchesOf(given);
    const rows = given.batches.reduce((sum, batch) => sum + batch.rows, 0);
    const objects: unknown = JSON.parse(await rendered(batches, given.columns, { format: "json" }));
    expect(objects).toHaveLength(rows);
    const stream = await rendered(batches, given.columns, { format: "arrow" }, "latin1");
    expect(tableFromIPC(Buffer.from(stream, "latin1")).numRows).toBe(rows);
  });
});
