import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { storageFolder } from "../../accounts/account-storage.ts";

describe.skipIf(sparkIsMissing)("a Hive command with SQL", () => {
  const spark = useSpark();

  async function run(body: Record<string, unknown>, end = "done") {
    const { id } = await spark.account.post("/commands", { command_type: "HiveCommand", ...body });
    const command = await waitForCommandEnd(spark.account, id);
    const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
    expect(command.status, log).toBe(end);
    return command;
  }
  const resultsOf = async (id: number): Promise<string> =>
    (await spark.account.get(`/commands/${id}/results?include_headers=true`)).results;

  test("runs its query on the warm server, with rows, columns, log and jobs like any query", async () => {
    const { id, qlog, progress, pid } = await run({
      query: "select $n$ + 1 as more; select count(*) as c from range($n$)",
      macros: [{ n: "20 + 2" }],
    });
    expect([progress, pid, await resultsOf(id)]).toEqual([100, null, "c\r\n22\r\n"]);
    expect(JSON.parse(qlog)["SVC-QUERY-SCHEMA"]).toEqual({
      "select count(*) as c from range(22)": [{ ColumnName: "c", ColumnType: "bigint" }],
    });
    const { text } = await spark.account.get(`/commands/${id}/logs`).reply();
    expect(text).toMatch(/statement 1 of 2: select 22 \+ 1 as more/);
    const jobs = await spark.account.get(`/commands/${id}/jobs`);
    expect(jobs.map((job: { job_id: number }) => job.job_id)).toEqual([0, 1]);
    const again = await spark.account.post(`/commands/${id}/rerun`);
    await waitForCommandEnd(spark.account, again.id);
    expect(await resultsOf(again.id)).toBe("c\r\n22\r\n");
  });

  test("runs a script, as it was when it was submitted", async () => {
    const folder = join(storageFolder(spark.dataDir, spark.accountId), "scripts");
    mkdirSync(folder, { recursive: true });
    const script = join(folder, `${randomBytes(4).toString("hex")}.hql`);
    writeFileSync(script, "select 'kept' as word;\n");
    const { id, command } = await run({ script_location: `file://${script}` });
    expect(command).toMatchObject({ query: null, script_location: `file://${script}`, loader_table_name: null });
    expect(await resultsOf(id)).toBe("word\r\nkept\r\n");
    writeFileSync(script, "select 'another' as word");
    const again = await spark.account.post(`/commands/${id}/rerun`);
    await waitForCommandEnd(spark.account, again.id);
    expect(await resultsOf(again.id)).toBe("word\r\nkept\r\n");
  });

  test("shares the tables of Spark commands", async () => {
    const name = `t_${randomBytes(4).toString("hex")}`;
    await run({ query: `create table ${name} using parquet as select 7 as n` });
    const { id } = await runSql(spark.account, `select n from ${name}`);
    expect(await resultsOf(id)).toBe("n\r\n7\r\n");
  });

  test("that fails is retried as often as retry says, and says why", async () => {
    const { id, command } = await run({ query: "select * from nowhere", retry: 1, retry_delay: 0 }, "error");
    expect(command.retry).toBe(1);
    const { attempts } = await spark.account.get(`/commands/${id}/attempts`);
    expect(attempts.map(({ cause }: { cause: string }) => cause)).toEqual([
      expect.stringContaining("TABLE_OR_VIEW_NOT_FOUND"),
      expect.stringContaining("TABLE_OR_VIEW_NOT_FOUND"),
    ]);
  });
});
