import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { because } from "./skip-reasons/skip-reasons.ts";
import { AccountClient } from "./support/given.ts";
import { tourBlocks } from "./support/readme-tour.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { foundSparkAccount } from "./support/spark-server.ts";
import { useSpark } from "./support/spark.ts";

const run = promisify(execFile);
/** The options make them read standard input, and no files of the user. */
const SHELLS = [
  { name: "bash", path: "/usr/bin/bash", options: ["--norc", "-s"] },
  { name: "zsh", path: "/usr/bin/zsh", options: ["-f", "-s"] },
];
const TOUR_MS = 600_000;

describe.skipIf(sparkIsMissing)("the tour of the README", () => {
  const spark = useSpark();

  describe.each(SHELLS)("in $name", ({ name, path, options }) => {
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
        const pasted = run(path, options, { cwd: folder, encoding: "utf8" });
        pasted.child.stdin?.end(script);
        const { stdout, stderr } = await pasted;
        expect(stderr).toBe("");
        expect(stdout.split("\n").filter((line) => line.startsWith('{"error"'))).toEqual([]);
        expect(stdout).toContain('"results":"1000\\n"');
        expect(stdout).toContain("id,square");
        expect(stdout).toContain('"status":"cancelled"');
        expect(stdout).toContain('"name":"dt"');
        expect(stdout.split("\n"), "the sensor finds the partition").toContain('{"status":"true"}');
        const { commands } = await new AccountClient(spark.url, token, accountId, email).get("/commands?per_page=100");
        const statuses = commands.map(({ status }: { status: string }) => status);
        expect(statuses.toSorted()).toEqual(["cancelled", "done", "done", "done", "done"]);
      },
    );
  });
});
