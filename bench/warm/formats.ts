import { setTimeout as delay } from "node:timers/promises";
import { startHeadgate, type BenchHeadgate } from "../headgate.ts";
import { median, timed } from "../measure.ts";
import { SELECT_1, sqlCommand } from "./warm-server.ts";

const ROUNDS = 4;
/** A server that is idle for the first time loads Delta. */
const IDLE_MS = 20_000;
const CLUSTER = "/api/v2/clusters/default";

/** The statements of a new table, the same for all formats. */
const TABLES = {
  parquet: { table: "p", using: "parquet" },
  delta: { table: "d", using: "delta" },
  iceberg: { table: "iceberg.default.i", using: "iceberg" },
} as const;
type Format = keyof typeof TABLES;
const FORMATS = ["parquet", "delta", "iceberg"] as const;

/**
 * The first table of each format in a warm server: create, insert and select, each a command. The order changes with each
 * round, because the first of the three also loads classes that the others use.
 */
export async function benchFormats(): Promise<void> {
  const headgate = await startHeadgate();
  try {
    await headgate.call("PUT", CLUSTER, { table_formats: ["delta", "iceberg"] });
    await headgate.run(sqlCommand(SELECT_1)); // downloads the formats
    const times: Record<Format, number[]> = { parquet: [], delta: [], iceberg: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      await restart(headgate);
      const order = FORMATS.map((_, index) => FORMATS[(index + round) % FORMATS.length] ?? "parquet");
      for (const format of order) times[format].push(await timed(() => firstTable(headgate, format, round)));
    }
    const parquet = median(times.parquet);
    for (const format of FORMATS) {
      const own = median(times[format]);
      console.log(
        `first table of ${format} in a warm server: ${(own / 1000).toFixed(2)} s, ratio to Parquet ${(own / parquet).toFixed(2)}`,
      );
    }
  } finally {
    await headgate.stop();
  }
}

async function firstTable({ run }: BenchHeadgate, format: Format, round: number): Promise<void> {
  const { table, using } = TABLES[format];
  const name = `${table}${round}`;
  await run(sqlCommand(`create table ${name} (id int, name string) using ${using}`));
  await run(sqlCommand(`insert into ${name} values (1, 'a'), (2, 'b')`));
  await run(sqlCommand(`select * from ${name} where id > 0 order by id`));
}

async function restart({ call, run }: BenchHeadgate): Promise<void> {
  await call("PUT", `${CLUSTER}/state`, { state: "terminate", force: true });
  while ((await call<{ state: string }>("GET", `${CLUSTER}/state`)).state !== "DOWN") await delay(100);
  await run(sqlCommand(SELECT_1));
  await delay(IDLE_MS);
}
