import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/connect-server.ts";
import { statusOf, submitSql, useSpark } from "../../../test/support/spark.ts";
import { parseSpec, type RunSpec } from "../../engines/runner/protocol.ts";

const PATIENCE = { timeout: 30_000 };
/** Sleeps in a task; nothing of it can be worked out ahead. */
const sleeping = (seconds: number): string =>
  `select max(reflect('java.lang.Thread', 'sleep', bigint(id + ${seconds * 1000}))) from range(0, 1, 1, 1)`;

describe.skipIf(sparkIsMissing)("the Sparks of an account, should their server not come back", () => {
  const spark = useSpark();
  const below = (...names: string[]): string => join(spark.dataDir, "accounts", String(spark.accountId), ...names);
  const specOf = (kind: string, name: string): RunSpec =>
    parseSpec(readFileSync(below(kind, name, "run/spec.json"), "utf8"));
  const only = (kind: string, begin: RegExp): string => {
    const [name, ...more] = readdirSync(below(kind)).filter((each) => begin.test(each));
    expect(more).toEqual([]);
    return name ?? "";
  };
  const roster = (): string[] => readdirSync(below("running"));

  test("end by themselves: the warm server when it is idle, the metastore when the account is", () => {
    const terms = { presenceFile: join(spark.dataDir, "presence"), afterSeconds: 600 };
    const server = only("spark", /./);
    expect(specOf("spark", server)).toMatchObject({
      rosterFolder: below("running"),
      orphan: { ...terms, busyFile: below("spark", server, "work/busy"), usersFolder: null },
    });
    expect(specOf("metastore", only("metastore", /^process-/))).toMatchObject({
      rosterFolder: join(spark.dataDir, "postgres/users"),
      orphan: { ...terms, busyFile: null, usersFolder: below("running") },
    });
  });

  test("a warm server tells from inside while a statement runs, and is on the account's roster as long", async () => {
    await expect.poll(roster, PATIENCE).toEqual([]);
    const { id } = await submitSql(spark.account, sleeping(600));
    await expect.poll(() => roster().length, PATIENCE).toBe(1);
    expect(await statusOf(spark.account, id)).toBe("running");
    await spark.account.put(`/commands/${id}`, { status: "kill" });
    await expect.poll(roster, PATIENCE).toEqual([]);
  });
});
