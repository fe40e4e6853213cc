import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { statusOf, submitSql, useSpark } from "../../../test/support/spark.ts";
import { parseSpec, type RunSpec } from "../../processes/runner/protocol.ts";
import { readOwner } from "../../processes/runner/claim-and-order.ts";

const PATIENCE = { timeout: 60_000 };
/** Sleeps in a task, only briefly, because other test files share the server's cores. */
const sleeping = `select java_method('java.lang.Thread', 'sleep', id + 15000L) from range(0, 1, 1, 1)`;

/** `orphaned-sparks.full.test.ts` shows that they do end; here other test files share the Spark processes. */
describe.skipIf(sparkIsMissing)("the Spark processes of an account whose server does not come back", () => {
  const spark = useSpark();
  const below = (...names: string[]): string => join(spark.dataDir, "accounts", String(spark.accountId), ...names);
  const specOf = (folder: string): RunSpec => parseSpec(readFileSync(join(folder, "run/spec.json"), "utf8"));
  const foldersOf = (kind: string, names: RegExp): string[] =>
    readdirSync(below(kind)).flatMap((name) => (names.test(name) ? [below(kind, name)] : []));

  test("end by themselves: the warm server when it is idle, the metastore when the account is idle", () => {
    const terms = { presenceFile: join(spark.dataDir, "presence"), afterSeconds: 600 };
    for (const folder of foldersOf("spark", /./)) {
      const orphan = { ...terms, busyFile: join(folder, "work/busy"), usersFolder: null };
      expect(specOf(folder)).toMatchObject({ rosterFolder: below("running"), orphan });
    }
    const [metastore = ""] = foldersOf("metastore", /^process-/);
    expect(specOf(metastore)).toMatchObject({
      rosterFolder: join(spark.dataDir, "postgres/users"),
      orphan: { ...terms, busyFile: null, usersFolder: below("running") },
    });
  });

  test("a warm server reports a running statement and is then on the account's roster", async () => {
    const { id } = await submitSql(spark.account, sleeping);
    // Read again each time: the statement may have started a server of its own.
    const isOnRoster = (): boolean => {
      const runners = foldersOf("spark", /./).map((folder) => readOwner(join(folder, "run"))?.pid);
      return readdirSync(below("running")).some((name) => runners.includes(Number(name.split(".")[1])));
    };
    await expect.poll(() => statusOf(spark.account, id), PATIENCE).toBe("running");
    await expect.poll(isOnRoster, PATIENCE).toBe(true);
    await spark.account.put(`/commands/${id}`, { status: "kill" });
  });
});
