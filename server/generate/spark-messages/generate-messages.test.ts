import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { installedSparkFolder } from "../../src/engines/spark-home/install-spark.ts";
import { generateMessages, messagesFolder } from "./generate-messages.ts";
import { pythonBytes } from "./read-descriptors.ts";

it("has messages as the pinned Spark defines them", async ({ skip }) => {
  const spark = installedSparkFolder(inject("postgres").cacheDir);
  skip(!existsSync(spark), "Spark is not installed here");
  const generated = await generateMessages(spark);
  expect(readdirSync(messagesFolder).toSorted()).toEqual([...generated.keys()].toSorted());
  for (const [name, text] of generated) {
    expect(readFileSync(join(messagesFolder, name), "utf8"), `npm run generate:spark writes ${name} anew`).toBe(text);
  }
});

it("reads the bytes that Python writes", () => {
  expect([...pythonBytes(String.raw`a\n\r\t\\\'\"\x00\xff\036z"`)]).toEqual([
    97, 10, 13, 9, 92, 39, 34, 0, 255, 30, 122, 34,
  ]);
});
