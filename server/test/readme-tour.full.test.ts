import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { because } from "./skip-reasons/skip-reasons.ts";
import { AccountClient } from "./support/given.ts";
import { repositoryDir } from "./support/repository-dir.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { foundSparkAccount } from "./support/spark-server.ts";
import { useSpark } from "./support/spark.ts";

const run = promisify(execFile);
const SHELLS = ["bash", "zsh"].map((name) => ({ name, path: `/usr/bin/${name}` }));
const TOUR_MS = 600_000;

/** The blocks of shell commands in the section "A first tour". */
function tourBlocks(): string[] {
  const readme = readFileSync(join(repositoryDir, "README.md"), "utf8");
  const [, section = ""] = /^## A first tour\n([^]*?)^## /m.exec(readme) ?? [];
  return [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
}

describe.skipIf(sparkIsMissing)("the tour of the README", () => {
  const spark = useSpark();

  it("has no comments, which zsh would run", () => {
    expect(tourBlocks().length).toBeGreaterThan(5);
    for (const block of tourBlocks()) expect(block).not.toMatch(/(^|\s)#/m);
  });

  describe.each(SHELLS)("in $name", ({ name, path }) => {
    it.skipIf(!existsSync(path))(
      "works when all blocks are pasted, on another port",
      { timeout: TOUR_MS, ...because(`no ${name}`) },
      async () => {
        const email = `tour-${name}@example.test`;
        const { accountId, token } = await foundSparkAccount(spark.connection, email);
        const folder = mkdtempSync(join(tmpdir(), "headgate-tour-"));
        onTestFinished(() => rmSync(folder, { recursive: true }));
        mkdirSync(join(folder, "data"));
        writeFileSync(join(folder, "data/admin-token"), token);
        const [first = "", ...rest] = tourBlocks();
        const script = [first.replace(/^HEADGATE=.*$/m, `HEADGATE=${spark.url}`), ...rest].join("\n");
        // From standard input, as pasted lines.
        const pasted = run(path, ["-f", "-s"].slice(name === "zsh" ? 0 : 1), { cwd: folder, encoding: "utf8" });
        pasted.child.stdin?.end(script);
        const { stdout, stderr } = await pasted;
        expect(stderr).toBe("");
        expect(stdout.split("\n").filter((line) => line.includes('"error"'))).toEqual([]);
        expect(stdout).toContain('"results":"1000\\n"');
        expect(stdout).toContain("id,square");
        expect(stdout).toContain('"status":"cancelled"');
        expect(stdout).toContain('"name":"dt"');
        const { commands } = await new AccountClient(spark.url, token, accountId, email).get("/commands?per_page=100");
        const statuses = commands.map(({ status }: { status: string }) => status);
        expect(statuses.toSorted()).toEqual(["cancelled", "done", "done", "done", "done"]);
      },
    );
  });
});
