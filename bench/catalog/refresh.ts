import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DAY_MS } from "../../server/src/lib/clock.ts";
import { openToAll } from "../../server/test/support/open-metastore.ts";
import type { BenchHeadgate } from "../headgate.ts";
import { median, timed } from "../measure.ts";
import { sqlCommand } from "../warm/warm-server.ts";

/** Use `BENCH_PARTITIONS=500` for a trial, because Spark takes minutes for the default. */
const PARTITIONS = Number(process.env["BENCH_PARTITIONS"] ?? 10_000);
const LATER = 10;
const ROUNDS = 3;
/** Short refreshes (a fifth of a second) are measured more often than those of half a minute. */
const SHORT_ROUNDS = 5;
/** Like a typical table: a few dozen columns, a folder for each hour. */
const COLUMNS = Array.from({ length: 20 }, (_, n) => `column_${n} ${["bigint", "string", "date"][n % 3]}`);
const FIRST_DAY = Date.UTC(2025, 0, 1);

/**
 * Refreshes a table whose folders are all unknown to the metastore, and then one with a few new folders: natively by
 * SQL, natively by Thrift on the same metastore, and by Spark's own recovery on the warm server. Each is a command,
 * measured from its submission to its end. Each table has its own tree of files on this machine.
 */
export async function benchRefresh(headgate: BenchHeadgate): Promise<void> {
  const { id } = await headgate.call<{ id: number }>("GET", "/account");
  const trees = join(headgate.dataDir, `accounts/${id}/storage/trees`);
  const bench = { headgate, trees };
  await headgate.run(sqlCommand("create schema refreshed"));
  const recover = (table: string) => headgate.run(sqlCommand(`alter table refreshed.${table} recover partitions`));
  const spark = await measure(bench, ["by_spark"], 1, recover);
  report("Spark's RECOVER PARTITIONS", spark);
  const tables = Array.from({ length: ROUNDS }, (_, round) => `by_sql_${round}`);
  const sql = await measure(bench, tables, SHORT_ROUNDS, (table) => refresh(headgate, table));
  report("natively, by SQL", sql, spark);
  await withExternalMetastore(bench, id, async () => {
    const thrift = await measure(bench, ["by_thrift"], SHORT_ROUNDS, (table) => refresh(headgate, table));
    report("natively, by Thrift", thrift, spark);
  });
}

interface Bench {
  readonly headgate: BenchHeadgate;
  readonly trees: string;
}

interface Times {
  readonly all: number;
  readonly later: number;
}

async function measure(
  { headgate, trees }: Bench,
  tables: readonly string[],
  laterRounds: number,
  refreshed: (table: string) => Promise<unknown>,
): Promise<Times> {
  const [all, later]: [number[], number[]] = [[], []];
  for (const table of tables) {
    grow(join(trees, table), 0, PARTITIONS);
    const columns = `(${COLUMNS.join(", ")}, day date, hour int) using csv partitioned by (day, hour)`;
    await headgate.run(sqlCommand(`create table refreshed.${table} ${columns} location '${join(trees, table)}'`));
    all.push(await timed(() => refreshed(table)));
    for (let round = 0; round < laterRounds; round += 1) {
      grow(join(trees, table), PARTITIONS + round * LATER, LATER);
      later.push(await timed(() => refreshed(table)));
    }
    const partitions = await headgate.call<unknown[]>("GET", `/hive/refreshed/${table}/partitions`);
    if (partitions.length !== PARTITIONS + laterRounds * LATER)
      throw new Error(`${table} has ${partitions.length} partitions`);
  }
  return { all: median(all), later: median(later) };
}

function grow(tree: string, from: number, count: number): void {
  for (let n = from; n < from + count; n += 1) {
    const day = new Date(FIRST_DAY + Math.floor(n / 24) * DAY_MS).toISOString().slice(0, 10);
    const folder = join(tree, `day=${day}`, `hour=${n % 24}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "part-0.csv"), `${n}\n`);
  }
}

async function refresh(headgate: BenchHeadgate, table: string): Promise<void> {
  await headgate.run({ template: "s3import", db_name: "refreshed", hive_table: table });
}

/** Configures the account's own metastore as an external one; Spark creates its tables through it too. */
async function withExternalMetastore({ headgate }: Bench, accountId: number, work: () => Promise<void>): Promise<void> {
  const [folder = ""] = globSync(join(headgate.dataDir, `accounts/${accountId}/metastore/process-*`));
  const properties = readFileSync(join(folder, "input/metastore.properties"), "utf8");
  const secret = /^headgate\.secret=(\S+)$/m.exec(properties)?.[1] ?? "";
  const relay = await openToAll({ port: Number(readFileSync(join(folder, "port"), "utf8")), secret });
  try {
    await headgate.call("PUT", "/api/v2/accounts", { metastore_uri: relay.uri });
    await work();
    await headgate.call("PUT", "/api/v2/accounts", { metastore_uri: "" });
  } finally {
    await relay.close();
  }
}

function report(name: string, { all, later }: Times, base?: Times): void {
  const than = (time: number, other: number | undefined): string =>
    other === undefined ? "" : ` (${(other / time).toFixed(1)} times as fast as Spark)`;
  const seconds = (time: number): string => `${(time / 1000).toFixed(2)} s`;
  console.log(
    `${name}: ${PARTITIONS} new partitions ${seconds(all)}${than(all, base?.all)}; ` +
      `${LATER} new among them ${seconds(later)}${than(later, base?.later)}`,
  );
}
