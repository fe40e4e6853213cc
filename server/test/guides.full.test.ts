import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { AccountClient } from "./support/given.ts";
import { repositoryDir } from "./support/repository-dir.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { runSparkProgram } from "./support/spark-program.ts";
import { foundSparkAccount } from "./support/spark-server.ts";
import { useSpark } from "./support/spark.ts";

const run = promisify(execFile);
const GUIDE_MS = 600_000;

const read = (guide: string): string => readFileSync(join(repositoryDir, "docs", guide), "utf8");
const blocksOf = (guide: string, language: string): string[] =>
  [...read(guide).matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"))].map(([, block = ""]) => block);

describe.skipIf(sparkIsMissing)("the guides for the first day", () => {
  const spark = useSpark();

  it("work when their blocks are pasted into bash, and their program runs", { timeout: GUIDE_MS }, async () => {
    const email = "guides@example.test";
    const { token, accountId } = await foundSparkAccount(spark.connection, email);
    const folder = mkdtempSync(join(tmpdir(), "headgate-guides-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const env = { PATH: process.env.PATH, HEADGATE: spark.url, TOKEN: token };
    // From standard input, as pasted lines.
    const pasted = run("bash", ["--norc", "-s"], { cwd: folder, encoding: "utf8", env });
    pasted.child.stdin?.end([...blocksOf("first-csv.md", "sh"), ...blocksOf("table-formats.md", "sh")].join("\n"));
    const { stdout, stderr } = await pasted;
    expect(stderr).toBe("");
    expect(stdout.split("\n").filter((line) => line.startsWith('{"error"'))).toEqual([]);
    for (const [, size] of stdout.matchAll(/"path":"orders\.csv","size":(\d+)/g)) {
      expect(read("first-csv.md"), "the size in the guide").toContain(`"size": ${size}`);
    }
    expect(stdout).toContain('"results":"34.75\\n"');
    expect(stdout).toContain('"results":"3\\r\\n"');
    expect(stdout).toContain('{"name":"day","type":"date","comment":null}');
    expect(stdout).toContain('{"day":"2026-11-15","orders":1,"total":20.25}');
    expect(readFileSync(join(folder, "totals.csv"), "utf8")).toBe(
      "day,orders,total\r\n2026-11-14,2,14.5\r\n2026-11-15,1,20.25\r\n",
    );
    expect(stdout).toContain('"results":"1\\tpaid\\r\\n2\\tsent\\r\\n3\\tnew\\r\\n"');
    expect(stdout).toContain('"results":"1\\tnew\\r\\n2\\tnew\\r\\n"');

    const [program = ""] = blocksOf("table-formats.md", "python");
    const output = await runSparkProgram(new AccountClient(spark.url, token, accountId, email), program);
    expect(output.match(/\| +\d\| *\w+\|/g)).toEqual(["|  1|  new|", "|  2|  new|", "|  1|  new|", "|  2|  new|"]);
  });
});
