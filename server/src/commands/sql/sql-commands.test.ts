import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { upload } from "../../../test/support/file-calls.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { runSql, submitSql, useSpark } from "../../../test/support/spark.ts";

const PATIENCE = { timeout: 45_000, interval: 50 };
/** Reports its progress often, has a thousand tasks, and takes a minute or more. */
const LONG =
  "set spark.connect.progress.reportInterval=100ms; select sum(hash(id, id)) from range(0, 10000000000, 1, 1000)";

describe.skipIf(sparkIsMissing)("a query on a warm server", () => {
  const spark = useSpark();
  const resultsOf = async (id: number, query = ""): Promise<string> =>
    (await spark.account.get(`/commands/${id}/results${query}`)).results;
  const logOf = async (id: number): Promise<string> => (await spark.account.get(`/commands/${id}/logs`).reply()).text;

  async function running(sql: string, more: Record<string, unknown> = {}): Promise<number> {
    const { id } = await submitSql(spark.account, sql, more);
    onTestFinished(async () => void (await spark.account.put(`/commands/${id}`, { status: "kill" })));
    await vi.waitFor(
      async () => expect(await spark.account.get(`/commands/${id}`)).toMatchObject({ progress: atLeast(51) }),
      PATIENCE,
    );
    return id;
  }

  test("shows values of every kind as Spark does", async () => {
    const { id, qlog } = await runSql(
      spark.account,
      `set spark.sql.session.timeZone=Europe/Berlin;
       select true b, 1Y t, 2S s, 3 i, 4L l, 1.5F f, 2.5D d, 1.10BD e, 'ä' c, x'4142' x, date'2024-02-29' y,
         timestamp'2024-02-29 12:34:56.789' z, timestamp_ntz'2024-02-29 01:02:03' n, interval '1-2' year to month p,
         interval '1 02:03:04' day to second q, array(1, null) a, map('k', 1) m, struct(1 as u, 'v' as w) r, null o,
         parse_json('{"a":[1]}') v`,
    );
    const values =
      "true|1|2|3|4|1.5|2.5|1.10|ä|AB|2024-02-29|2024-02-29 12:34:56.789|2024-02-29 01:02:03|1-2|" +
      '1 02:03:04.000000000|[1,null]|{"k":1}|{"u":1,"w":"v"}|NULL|{"a":[1]}';
    expect((await resultsOf(id)).replace("\r\n", "").split("\t")).toEqual(values.split("|"));
    const names = (await resultsOf(id, "?include_headers=true")).split("\r\n")[0]?.split("\t");
    expect(names?.join("")).toBe("btsilfdecxyznpqamrov");
    const [columns] = Object.values<{ ColumnName: string; ColumnType: string }[]>(JSON.parse(qlog)["SVC-QUERY-SCHEMA"]);
    expect(columns?.map(({ ColumnName: name, ColumnType: type }) => `${name} ${type}`).join(", ")).toBe(
      "b boolean, t tinyint, s smallint, i int, l bigint, f float, d double, e decimal(3,2), c string, x binary, " +
        "y date, z timestamp, n timestamp_ntz, p interval year to month, q interval day to second, a array<int>, " +
        "m map<string,int>, r struct<u:int,w:string>, o void, v variant",
    );
  });

  test("runs its statements one after the other in one session; the last rows are the result", async () => {
    const { id, qlog, progress } = await runSql(
      spark.account,
      `create temporary view numbers as select id from range(10); -- a comment; with a semicolon
       select ';' as \`not this\`; /* ; */
       select count(*) as c, ';' as s from numbers;
       drop view numbers;`,
    );
    expect([progress, await resultsOf(id, "?include_headers=true")]).toEqual([100, "c\ts\r\n10\t;\r\n"]);
    expect(Object.keys(JSON.parse(qlog)["SVC-QUERY-SCHEMA"])).toEqual([
      "/* ; */\n       select count(*) as c, ';' as s from numbers",
    ]);
    expect((await logOf(id)).match(/statement \d of \d/g)).toEqual([1, 2, 3, 4].map((n) => `statement ${n} of 4`));
    const jobs = await spark.account.get(`/commands/${id}/jobs`);
    expect(jobs.map((job: { job_id: number }) => job.job_id)).toEqual([0, 1, 2, 3]);
    expect(jobs[2]).toMatchObject({ url: null, job_stats: { status: "succeeded", num_failed_tasks: null } });
    const { job_stats: stats } = jobs[2];
    expect(stats.num_completed_tasks).toBe(stats.num_tasks);
  });

  test("does not see the session of another query", async () => {
    await runSql(spark.account, "create temporary view mine as select 1");
    const { id } = await runSql(spark.account, "select * from mine", {}, "error");
    expect(await logOf(id)).toContain("TABLE_OR_VIEW_NOT_FOUND");
  });

  test("uses the classes of a jar that it adds, as later queries do", async () => {
    const jar = readFileSync(join(import.meta.dirname, "fixtures/greeting.jar"));
    expect((await upload(spark.account, "lib/greeting.jar", jar)).status).toBe(200);
    const greet = "create temporary function greet as 'org.example.Greeting'";
    const greetings = "select greet(string(id)) from range(0, 2, 1, 2) order by id";
    const { id } = await runSql(spark.account, `add jar storage:/lib/greeting.jar; ${greet}; ${greetings}`);
    expect(await resultsOf(id)).toBe("hello 0\r\nhello 1\r\n");
    // Another jar of the same name, which is a zip file with a comment.
    const other = Buffer.concat([jar.subarray(0, -2), Buffer.from("\u0001\u0000x")]);
    expect((await upload(spark.account, "other/greeting.jar", other)).status).toBe(200);
    await runSql(spark.account, "add jar storage:/other/greeting.jar; select sum(id) from range(0, 4, 1, 2)");
    const { id: later } = await runSql(spark.account, `${greet}; ${greetings}`);
    expect(await resultsOf(later)).toBe("hello 0\r\nhello 1\r\n");
  });

  test("without rows has an empty result", async () => {
    const {
      id,
      qlog,
      num_result_dir: folders,
    } = await runSql(spark.account, "create temporary view v as select 1; drop view v");
    expect([qlog, folders, await resultsOf(id, "?include_headers=true")]).toEqual([null, 1, ""]);
    expect((await spark.account.get(`/commands/${id}/results?format=json`).reply()).text).toBe("[]\n");
  });

  test.each([" ", ";", "-- nothing"])("without a statement, %j, says so in its log", async (sql) => {
    const { id } = await runSql(spark.account, sql);
    expect([await resultsOf(id), await logOf(id)]).toEqual([
      "",
      expect.stringMatching(/ the script has no statements\n$/),
    ]);
  });

  test("that fails names the class and the state, in the log and as its error", async () => {
    const { id } = await runSql(spark.account, "select * from nowhere", {}, "error");
    const { error } = await spark.account.get(`/commands/${id}/status_with_results`);
    expect(error).toMatch(/^\[TABLE_OR_VIEW_NOT_FOUND\] .*SQLSTATE: 42P01 \(line 1, pos 14\)$/);
    expect(await logOf(id)).toMatch(/\[TABLE_OR_VIEW_NOT_FOUND\] [^]*SQLSTATE: 42P01; line 1 pos 14/);
  });

  test("of several statements names the one that failed, whose lines Spark counts from 1", async () => {
    const { id, progress } = await runSql(spark.account, "select 1; select *\nfrom nowhere; select 2", {}, "error");
    expect(progress).toBeLessThan(100);
    const { error, inline } = await spark.account.get(`/commands/${id}/status_with_results`);
    expect(error).toMatch(/^statement 2 of 3: \[TABLE_OR_VIEW_NOT_FOUND\] .*SQLSTATE: 42P01 \(line 2, pos 5\)$/);
    expect(inline).toBeNull();
    const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
    expect(log).toMatch(/\[TABLE_OR_VIEW_NOT_FOUND\] [^]*SQLSTATE: 42P01; line 2 pos 5/);
    expect(log).not.toContain("statement 3");
    const jobs = await spark.account.get(`/commands/${id}/jobs`);
    expect(jobs.map((job: { job_stats: { status: string } }) => job.job_stats.status)).toEqual(["succeeded", "failed"]);
    await spark.account.get(`/commands/${id}/results`).refused(422, /failed/);
  });

  test("whose message cannot be stored as it is ends with its other characters", async () => {
    const { id } = await runSql(spark.account, "select raise_error(concat('a', char(0), 'b'))", {}, "error");
    const { error } = await spark.account.get(`/commands/${id}/status_with_results`);
    expect(error).toMatch(/^\[USER_RAISED_EXCEPTION\] a b/);
  });

  test.each(["s3", "s3a"])("of files at %s:// says which keys the account lacks", async (scheme) => {
    const { id } = await runSql(spark.account, `select * from csv.\`${scheme}://a-bucket/a.csv\``, {}, "error");
    const { error } = await spark.account.get(`/commands/${id}/status_with_results`);
    expect(error).toContain("the account has no keys for S3: set storage_access_key and storage_secret_key");
  });

  test("makes progress, has a pid, and is cancelled long before its end", async () => {
    const id = await running(LONG);
    const before = await spark.account.get(`/commands/${id}`);
    expect(before).toMatchObject({ status: "running", pid: expect.any(Number), qlog: null });
    await vi.waitFor(
      async () =>
        expect(await spark.account.get(`/commands/${id}`)).toMatchObject({ progress: atLeast(before.progress + 1) }),
      PATIENCE,
    );
    const [, { job_stats: stats }] = await spark.account.get(`/commands/${id}/jobs`);
    expect(stats).toMatchObject({
      status: "running",
      num_tasks: 1000,
      num_completed_tasks: atLeast(1),
      ended_at: null,
    });
    const asked = performance.now();
    expect(await spark.account.put(`/commands/${id}`, { status: "kill" })).toMatchObject({ kill_succeeded: true });
    expect(await spark.account.get(`/commands/${id}?wait_seconds=60`)).toMatchObject({ status: "cancelled" });
    expect(performance.now() - asked).toBeLessThan(30_000);
    const [, { job_stats: end }] = await spark.account.get(`/commands/${id}/jobs`);
    expect(end).toMatchObject({ status: "killed" });
    // It would have kept every core busy for a minute.
    await expect.poll(() => coresUsed(before.pid, 500), PATIENCE).toBeLessThan(0.5);
    await spark.account.get(`/commands/${id}/results`).refused(422, /cancelled/);
  });

  test("is ended soon after its timeout", async () => {
    const { id, end_time: end, start_time: start } = await runSql(spark.account, LONG, { timeout: 2 }, "error");
    expect(await logOf(id)).toContain("timed out: the timeout is 2 s");
    expect((Date.parse(end) - Date.parse(start)) / 1000).toBeLessThan(15);
  });

  test("that fails is retried as often as retry says", async () => {
    const { id } = await runSql(spark.account, "select raise_error('again')", { retry: 2, retry_delay: 0 }, "error");
    const { attempts } = await spark.account.get(`/commands/${id}/attempts`);
    const cause = expect.stringMatching(/^\[USER_RAISED_EXCEPTION\] again SQLSTATE: P0001/);
    expect(attempts).toMatchObject([1, 2, 3].map((number) => ({ number, exit_code: 1, cause })));
  });

  test("can be run again, has its macros filled in, and is in the history", async () => {
    const { id, qlog } = await runSql(spark.account, "select '$word$' as w, $n$ as n", {
      macros: [{ word: "'a' + 'b'" }, { n: "2 * 3" }],
    });
    expect(await resultsOf(id)).toBe("ab\t6\r\n");
    const { id: second } = await spark.account.post(`/commands/${id}/rerun`);
    expect(await spark.account.get(`/commands/${second}/status_with_results?wait_seconds=60`)).toMatchObject({
      status: "done",
      inline: true,
      results: "ab\t6\r\n",
    });
    const { commands } = await spark.account.get(`/commands?command_id=${id},${second}`);
    expect(commands).toMatchObject([
      { id: second, status: "done", qlog },
      { id, status: "done", qlog },
    ]);
    expect(Object.keys(JSON.parse(qlog)["SVC-QUERY-SCHEMA"])).toEqual(["select 'ab' as w, 6 as n"]);
  });

  test("can come from a script", async () => {
    const storage = join(spark.dataDir, "accounts", String(spark.accountId), "storage");
    mkdirSync(storage, { recursive: true });
    writeFileSync(join(storage, "script.sql"), "select 1 as a;\nselect 2 as b;\n");
    const { id } = await spark.account.post("/commands", {
      command_type: "SparkCommand",
      script_location: `file://${storage}/script.sql`,
    });
    expect(await spark.account.get(`/commands/${id}/status_with_results?wait_seconds=60`)).toMatchObject({
      status: "done",
      results: "2\r\n",
    });
  });
});

/** How many cores the process keeps busy, measured over at least that time. */
async function coresUsed(pid: number, milliseconds: number): Promise<number> {
  const ticks = (): number => {
    const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const [user, system] = fields.split(" ").slice(11, 13);
    return Number(user) + Number(system);
  };
  const [before, begin] = [ticks(), performance.now()];
  await delay(milliseconds);
  return (ticks() - before) / 100 / ((performance.now() - begin) / 1000);
}

function atLeast(minimum: number): unknown {
  return expect.toSatisfy((value: number) => value >= minimum);
}
