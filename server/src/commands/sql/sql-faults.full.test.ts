import { describe, expect, test, vi } from "vitest";
import { SET_UP_MS } from "../../../test/support/connect-server.ts";
import { useOwnSpark } from "../../../test/support/own-spark.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { runSql, submitSql } from "../../../test/support/spark.ts";

const PATIENCE = { timeout: 60_000, interval: 50 };
/** Nine seconds and more: each row takes 25 ms, on two cores. */
const SLOW = `set spark.connect.progress.reportInterval=100ms;
  select id, java_method('java.lang.Thread', 'sleep', 25L) as slept, repeat('x', 20000) as filler
  from range(0, 750, 1, 50)`;

describe.skipIf(sparkIsMissing)("a query on a warm server", () => {
  const spark = useOwnSpark();

  async function crashAndStart(): Promise<void> {
    await spark.node.crash();
    await spark.start();
  }

  const seen = (id: number, what: unknown, patience = PATIENCE) =>
    vi.waitFor(async () => expect(await spark.account.get(`/commands/${id}`)).toMatchObject(what as object), patience);

  test(
    "is cancelled at once while its server starts",
    async () => {
      const { id } = await submitSql(spark.account, "select 1");
      // Spark is set up, and the server is still starting.
      await seen(id, { status: "running", pid: null }, { timeout: SET_UP_MS, interval: 50 });
      const asked = performance.now();
      await spark.account.put(`/commands/${id}`, { status: "kill" });
      expect((await spark.account.get(`/commands/${id}?wait_seconds=60`)).status).toBe("cancelled");
      const cancelled = performance.now();
      const next = await submitSql(spark.account, "select 2");
      await seen(next.id, { status: "done" }, { timeout: SET_UP_MS, interval: 100 });
      expect((await spark.account.get(`/commands/${next.id}/results`)).results).toBe("2\r\n");
      const { text: log } = await spark.account.get(`/commands/${next.id}/logs`).reply();
      expect(log).toContain("the Spark server for this query is starting");
      // The next query had to wait for the server, so the cancel had not waited for it.
      expect(cancelled - asked).toBeLessThan(performance.now() - cancelled);
    },
    SET_UP_MS,
  );

  test("goes on in the middle when Headgate is killed and started again, twice", async () => {
    await runSql(spark.account, "select 1"); // starts the warm server if it is not running
    const { id } = await submitSql(spark.account, SLOW);
    await seen(id, { status: "running", progress: expect.toSatisfy((value: number) => value > 55) });
    await crashAndStart();
    await crashAndStart();
    const { status, results } = await spark.account.get(`/commands/${id}/status_with_results?wait_seconds=60`);
    expect(status).toBe("done");
    const rows: string[][] = results.split("\r\n").map((row: string) => row.split("\t"));
    expect(rows.map(([number]) => number)).toEqual([...Array(750).keys(), ""].map(String));
    expect(rows.slice(0, -1).every(([, , filler]) => filler === "x".repeat(20_000))).toBe(true);
    const { text: log } = await spark.account.get(`/commands/${id}/logs`).reply();
    expect(log.match(/statement \d of \d|is starting/g)).toEqual(["statement 1 of 2", "statement 2 of 2"]);
    expect((await spark.account.get(`/commands/${id}/attempts`)).attempts).toHaveLength(1);
    const jobs = await spark.account.get(`/commands/${id}/jobs`);
    expect(jobs).toMatchObject([
      { job_stats: { status: "succeeded" } },
      { job_stats: { status: "succeeded", num_tasks: 50 } },
    ]);
    expect((await spark.account.get(`/commands/${id}`)).qlog).toContain('"ColumnName":"slept"');
  });

  test("keeps the rows of an earlier statement over a restart in a later one", async () => {
    // Other rows than those of SLOW: all sessions of a server share its cache, and SLOW has to stay slow.
    const cached = SLOW.split(";")[1]?.replace("'x'", "'y'");
    const { id } = await submitSql(
      spark.account,
      `select 'early' as e; create temporary view w as ${cached}; cache table w`,
    );
    await seen(id, { status: "running", progress: expect.toSatisfy((value: number) => value >= 66) });
    await crashAndStart();
    const { status, results } = await spark.account.get(`/commands/${id}/status_with_results?wait_seconds=60`);
    expect([status, results]).toEqual(["done", "early\r\n"]);
    expect((await spark.account.get(`/commands/${id}`)).qlog).toContain("select 'early' as e");
  });

  test("fails with that cause when its server is killed", async () => {
    const { id } = await submitSql(spark.account, SLOW);
    await seen(id, { status: "running", pid: expect.any(Number), progress: expect.toSatisfy((v: number) => v > 50) });
    const { pid } = await spark.account.get(`/commands/${id}`);
    process.kill(pid, "SIGKILL");
    const killed = performance.now();
    const { status, error } = await spark.account.get(`/commands/${id}/status_with_results?wait_seconds=60`);
    expect([status, error]).toEqual(["error", "the Spark server that ran it has died"]);
    expect(performance.now() - killed).toBeLessThan(18_000); // one that may come back is waited for 20 s
    const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
    expect(log).toContain("the Spark server that ran it has died");
  });
});
