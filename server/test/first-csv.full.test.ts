import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { repositoryDir } from "./support/repository-dir.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { foundSparkAccount } from "./support/spark-server.ts";
import { useSpark } from "./support/spark.ts";

const run = promisify(execFile);
const GUIDE_MS = 600_000;

describe.skipIf(sparkIsMissing)("the guide from a CSV to a table", () => {
  const spark = useSpark();

  it("works when all its blocks are pasted into bash", { timeout: GUIDE_MS }, async () => {
    const { token } = await foundSparkAccount(spark.connection, "first-csv@example.test");
    const folder = mkdtempSync(join(tmpdir(), "headgate-csv-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const guide = readFileSync(join(repositoryDir, "docs/first-csv.md"), "utf8");
    const blocks = [...guide.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
    const env = { PATH: process.env.PATH, HEADGATE: spark.url, TOKEN: token };
    // From standard input, as pasted lines.
    const pasted = run("bash", ["--norc", "-s"], { cwd: folder, encoding: "utf8", env });
    pasted.child.stdin?.end(blocks.join("\n"));
    const { stdout, stderr } = await pasted;
    expect(stderr).toBe("");
    expect(stdout.split("\n").filter((line) => line.startsWith('{"error"'))).toEqual([]);
    for (const [, size] of stdout.matchAll(/"path":"orders\.csv","size":(\d+)/g)) {
      expect(guide, "the size in the guide").toContain(`"size": ${size}`);
    }
    expect(stdout).toContain('"results":"34.75\\n"');
    expect(stdout).toContain('"results":"3\\r\\n"');
    expect(stdout).toContain('{"name":"day","type":"date","comment":null}');
    expect(stdout).toContain('{"day":"2026-11-15","orders":1,"total":20.25}');
    expect(readFileSync(join(folder, "totals.csv"), "utf8")).toBe(
      "day,orders,total\r\n2026-11-14,2,14.5\r\n2026-11-15,1,20.25\r\n",
    );
  });
});
