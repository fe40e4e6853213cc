import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { partitionsOf, refresh, refreshed } from "../../../test/support/refresh.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { storageFolder } from "../../accounts/account-storage.ts";

const NONE = "__HIVE_DEFAULT_PARTITION__";

describe.skipIf(sparkIsMissing)("a table refresh", () => {
  const spark = useSpark();
  const storage = (): string => storageFolder(spark.dataDir, spark.accountId);
  const newName = (): string => `t_${randomBytes(4).toString("hex")}`;
  const rows = async (sql: string): Promise<string[]> => {
    const { id } = await runSql(spark.account, sql);
    const { results } = await spark.account.get(`/commands/${id}/results`);
    return results.split("\r\n").slice(0, -1);
  };

  async function textTable(columns = "n int"): Promise<{ name: string; folder: string }> {
    const name = newName();
    const folder = join(storage(), name);
    await runSql(
      spark.account,
      `create table ${name} (v string, ${columns}) using csv options (path 'file:${folder}')
       partitioned by (${columns.replaceAll(/ \w+(,|$)/g, "$1")})`,
    );
    return { name, folder };
  }
  const write = (folder: string, ...paths: readonly string[]): void => {
    for (const path of paths) {
      mkdirSync(join(folder, path), { recursive: true });
      writeFileSync(join(folder, path, "part.csv"), `${path.replaceAll(/.*=/g, "")}\n`);
    }
  };

  test("does not let the name of a folder forge lines of its log", async () => {
    const { name, folder } = await textTable();
    const forged = "x\n2026-11-15 00:00:00 added n=9 at nowhere";
    mkdirSync(join(folder, forged), { recursive: true });
    const { added, log } = await refresh(spark.account, name);
    expect(added).toEqual({});
    expect(log).toContain(`skipped: file:${folder}/${forged.replace("\n", "\\u000a")}: expected n=value at this level`);
    expect(log).not.toContain(forged);
  });

  test("finds partitions that were written directly to the storage of a managed Parquet table, and Spark reads them", async () => {
    const name = newName();
    await runSql(
      spark.account,
      `create table ${name} (v int, day date, city string) using parquet partitioned by (day, city);
       insert into ${name} values (7, date'2026-11-15', 'here')`,
    );
    const folder = join(storage(), "warehouse", name);
    const first = join(folder, "day=2026-11-15/city=here");
    const copied = [
      "day=2026-11-15/city=a%2Fb",
      "day=2026-11-16/city=a:b",
      "DAY=2026-11-16/City=Köln",
      `day=2026-11-16/city=${NONE}`,
    ];
    for (const path of copied) cpSync(first, join(folder, path), { recursive: true });
    mkdirSync(join(folder, "day=2026-11-17/city=empty"), { recursive: true });
    for (const odd of [
      "day=2026-13-45/city=x",
      "backup",
      "city=x/day=2026-11-15",
      "_temporary/0",
      "day=2026-11-18/x",
    ]) {
      mkdirSync(join(folder, odd), { recursive: true });
    }
    const { id, added, log } = await refresh(spark.account, name);
    expect(added).toEqual({
      "day=2026-11-15/city=a%2Fb": `file:${folder}/day=2026-11-15/city=a%2Fb`,
      "day=2026-11-16/city=a%3Ab": `file:${folder}/day=2026-11-16/city=a:b`,
      "day=2026-11-16/city=Köln": `file:${folder}/DAY=2026-11-16/City=Köln`,
      [`day=2026-11-16/city=${NONE}`]: `file:${folder}/day=2026-11-16/city=${NONE}`,
      "day=2026-11-17/city=empty": `file:${folder}/day=2026-11-17/city=empty`,
    });
    expect(await partitionsOf(spark.account, name)).toEqual({
      ...added,
      "day=2026-11-15/city=here": `file:${folder}/day=2026-11-15/city=here`,
    });
    expect(await rows(`select v, day, city from ${name} order by day, city nulls last`)).toEqual([
      "7\t2026-11-15\ta/b",
      "7\t2026-11-15\there",
      "7\t2026-11-16\tKöln",
      "7\t2026-11-16\ta:b",
      "7\t2026-11-16\tNULL",
    ]);

    for (const [partition, location] of Object.entries(added))
      expect(log).toContain(`added ${partition} at ${location}`);
    expect(log).toContain(`skipped: file:${folder}/day=2026-13-45: its value is not a valid date`);
    expect(log).toContain(`skipped: file:${folder}/backup: its name is not of the form day=value`);
    expect(log).toContain(`skipped: file:${folder}/city=x: expected day=value at this level`);
    expect(log).toContain(`skipped: file:${folder}/day=2026-11-18/x: its name is not of the form city=value`);
    expect(log).not.toContain("_temporary");
    expect(log).toMatch(/6 partitions found, 5 added, 0 postponed because .*, 4 folders skipped; listing \d/);

    const command = await spark.account.get(`/commands/${id}`);
    expect(command).toMatchObject({
      status: "done",
      progress: 100,
      num_result_dir: 1,
      pid: null,
      template: "s3import",
    });
    expect(JSON.parse(command.qlog)["SVC-QUERY-SCHEMA"]).toEqual({
      [`alter table \`default\`.\`${name}\` recover partitions`]: [
        { ColumnName: "partition", ColumnType: "string" },
        { ColumnName: "location", ColumnType: "string" },
      ],
    });
    expect(await spark.account.get(`/commands/${id}/jobs`)).toEqual([]);
  });

  test("adds new partitions to an external table, and succeeds if there are none", async () => {
    const { name, folder } = await textTable();
    write(folder, "n=1", "n=07", "n=abc");
    expect(Object.keys((await refresh(spark.account, name)).added).sort()).toEqual(["n=07", "n=1"]);
    expect(await rows(`select v, n from ${name} order by n`)).toEqual(["1\t1", "07\t7"]);
    const again = await refresh(spark.account, name, { command_type: "HiveCommand" });
    expect(again.added).toEqual({});
    const { results } = await spark.account.get(`/commands/${again.id}/results?include_headers=true`);
    expect(results).toBe("partition\tlocation\r\n");
    write(folder, "n=2");
    const rerun = await spark.account.post(`/commands/${again.id}/rerun`);
    expect((await refreshed(spark.account, rerun.id)).added).toEqual({ "n=2": `file:${folder}/n=2` });
  });

  test("of a managed Hive table of text adds partitions that Spark can read", async () => {
    const name = newName();
    const columns = "row format delimited fields terminated by ',' stored as textfile";
    await runSql(spark.account, `create table ${name} (v string, w int) partitioned by (Day date) ${columns}`);
    const folder = join(storage(), "warehouse", name);
    for (const day of ["2026-11-15", "2026-11-16"]) {
      mkdirSync(join(folder, `day=${day}`));
      writeFileSync(join(folder, `day=${day}`, "rows"), "a,1\nb,2\n");
    }
    mkdirSync(join(folder, "day=2026-11-17 10:30:00"));
    symlinkSync(join(folder, "day=2026-11-15"), join(folder, "day=2026-11-18"));
    const { added, log } = await refresh(spark.account, name);
    expect(Object.keys(added).sort()).toEqual(["day=2026-11-15", "day=2026-11-16"]);
    expect(log).toContain(
      `skipped: file:${folder}/day=2026-11-17 10:30:00: the colon in its name would make queries of this table fail`,
    );
    expect(log).toContain(`skipped: file:${folder}/day=2026-11-18: it is a symbolic link, which is not followed`);
    expect(await rows(`select day, v, w from ${name} where day > date'2026-11-15' order by v`)).toEqual([
      "2026-11-16\ta\t1",
      "2026-11-16\tb\t2",
    ]);
  });

  test("never drops a partition whose folder was deleted", async () => {
    const { name, folder } = await textTable();
    await runSql(spark.account, `alter table ${name} add partition (n = 5) location 'file:${folder}/elsewhere'`);
    write(folder, "n=1");
    await refresh(spark.account, name);
    expect(Object.keys(await partitionsOf(spark.account, name)).sort()).toEqual(["n=1", "n=5"]);
  });

  test("with loader_stable leaves folders that changed recently to the next refresh", async () => {
    const { name, folder } = await textTable();
    write(folder, "n=1", "n=2/deep", "n=3");
    const old = new Date(Date.now() - 150_000);
    for (const path of ["n=1/part.csv", "n=1", "n=2", "n=2/deep", "n=3/part.csv"])
      utimesSync(join(folder, path), old, old);
    const first = await refresh(spark.account, name, { loader_stable: true, loader_stable_mult: "2" });
    expect(Object.keys(first.added)).toEqual(["n=1"]);
    expect(first.log).toContain(
      `postponed to the next refresh: n=2 at file:${folder}/n=2: file://${folder}/n=2/deep/part.csv`,
    );
    expect(first.log).toContain(
      `postponed to the next refresh: n=3 at file:${folder}/n=3: file:${folder}/n=3 was changed at`,
    );
    expect(first.log).toContain("2 postponed because they changed recently");
    const longer = await refresh(spark.account, name, { loader_stable: 1, loader_stable_mult: 5 });
    expect(longer.added).toEqual({});
    expect(Object.keys((await refresh(spark.account, name)).added)).toEqual(["n=2", "n=3"]);
  });

  test("with the engine spark runs Spark's own statement", async () => {
    const { name, folder } = await textTable();
    write(folder, "n=1", "N=2");
    await spark.account.put("/api/v2/accounts", { refresh_engine: "spark" });
    const { id, command } = await spark.account.post("/commands", {
      template: "s3import",
      db_name: "default",
      hive_table: name,
    });
    await spark.account.put("/api/v2/accounts", { refresh_engine: "native" });
    expect(command.query).toBe(`alter table \`default\`.\`${name}\` recover partitions`);
    const { log } = await refreshed(spark.account, id);
    expect(log).toContain(`statement 1 of 1: ${command.query}`);
    expect(await partitionsOf(spark.account, name)).toEqual({
      "n=1": `file:${folder}/n=1`,
      "n=2": `file:${folder}/N=2`,
    });
  });

  test("of anything but a partitioned table fails and says why", async () => {
    const name = newName();
    await runSql(
      spark.account,
      `create table ${name}_plain (v int) using parquet; create view ${name}_view as select v from ${name}_plain`,
    );
    const failing: readonly (readonly [string, string])[] = [
      [`${name}_plain`, `the table default.${name}_plain is not partitioned`],
      [`${name}_view`, `default.${name}_view is a view`],
      [`${name}_none`, `the table default.${name}_none is not in the metastore: create it first`],
    ];
    for (const [table, cause] of failing) {
      const { id, log } = await refresh(spark.account, table, {}, "error");
      expect(log).toContain(cause);
      const { attempts } = await spark.account.get(`/commands/${id}/attempts`);
      expect(attempts.map((attempt: { cause: string }) => attempt.cause)).toEqual([expect.stringContaining(cause)]);
      await spark.account.get(`/commands/${id}/results`).refused(422, /failed/);
    }
  });

  test("may name a cluster of any engine, and does not use it", async () => {
    const { name, folder } = await textTable();
    write(folder, "n=1");
    const label = `remote_${name}`;
    await spark.account.post("/api/v2/clusters", {
      labels: [label],
      engine: { type: "connect", url: "sc://127.0.0.1:1" },
    });
    expect((await refresh(spark.account, name, { label })).added).toEqual({ "n=1": `file:${folder}/n=1` });
  });

  /** `refresh-many.full.test.ts` does this with 12,000 partitions. */
  test("adds more partitions than fit into one batch, and logs and lists each of them", async () => {
    const { name, folder } = await textTable("n int");
    for (let n = 0; n < 600; n += 1) mkdirSync(join(folder, `n=${n}`), { recursive: true });
    try {
      const { id, added } = await refresh(spark.account, name);
      expect(Object.keys(added)).toHaveLength(600);
      const { text: log } = await spark.account.get(`/commands/${id}/logs`).reply();
      expect(log.match(/ added n=/g)).toHaveLength(600);
      expect(Object.keys(await partitionsOf(spark.account, name))).toHaveLength(600);
    } finally {
      await runSql(spark.account, `drop table ${name}`); // other files read all rows of the metastore
    }
  });
});
