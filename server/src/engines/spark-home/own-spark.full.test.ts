import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect, inject, test } from "vitest";
import { findSparkHome } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { jarsFor } from "./extra-jars.ts";
import { compileJvmParts, hasS3a, jvmPartsFor } from "./jvm-parts.ts";
import { pinnedHadoop } from "./pinned-spark.ts";

// Skipped if this machine has no Java or Python; sparkIsMissing prints the reason.
test.skipIf(sparkIsMissing)("an operator's Spark of another Hadoop, without s3a, can be set up", async () => {
  const { signal } = new AbortController();
  const { java, folder, classPath } = await findSparkHome(inject("postgres").cacheDir, signal);
  const sparks = classPath.filter((path) => dirname(path) === join(folder, "jars"));
  const added = jarsFor(sparks.map((path) => basename(path).replace(pinnedHadoop, "3.4.1"))).map(
    ({ artifact, version }) => `${artifact}-${version}.jar`,
  );
  const own = [...sparks, ...classPath.filter((path) => added.includes(basename(path)))];
  expect(own.length).toBe(sparks.length + 1); // PostgreSQL's driver
  expect([hasS3a(own), hasS3a(classPath)]).toEqual([false, true]);
  const cacheDir = mkdtempSync(join(tmpdir(), "headgate-own-spark-"));
  try {
    const parts = jvmPartsFor(cacheDir, java, own);
    await compileJvmParts(parts, java, own, { cacheDir, signal, progress: () => undefined });
    expect(existsSync(parts.jar)).toBe(true);
  } finally {
    rmSync(cacheDir, { recursive: true });
  }
});
