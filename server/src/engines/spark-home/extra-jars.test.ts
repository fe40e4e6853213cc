import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { downloadJars } from "./extra-jars.ts";

test("a downloaded jar is kept only if its hash is the pinned one", async () => {
  const base = mkdtempSync(join(tmpdir(), "headgate-jars-"));
  onTestFinished(() => rmSync(base, { recursive: true }));
  // Instead of Java with Ivy: writes the jar next to where the pattern, its last argument, points.
  const path = join(base, "java");
  const script = '#!/bin/sh\nfor last; do :; done\nprintf content > "$(dirname "$last")/probe-1.0.jar"\n';
  writeFileSync(path, script, { mode: 0o755 });
  const folder = join(base, "jars");
  const download = (content: string): Promise<void> => {
    const sha256 = createHash("sha256").update(content).digest("hex");
    return downloadJars(
      { folder, jars: [{ group: "example", artifact: "probe", version: "1.0", sha256 }], text: "Downloading" },
      { ivyJar: "ivy.jar", java: { path, home: base, build: "21" } },
      { signal: new AbortController().signal, progress: () => undefined },
    );
  };
  await expect(download("other content")).rejects.toThrow("the SHA-256 of probe from the Maven repository differs");
  expect(readdirSync(base)).toEqual(["java"]);
  await download("content");
  expect(readdirSync(folder)).toEqual(["probe-1.0.jar"]);
});
