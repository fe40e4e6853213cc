import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "pg";
import { MetastoreDatabases } from "../../server/src/catalog/metastores/metastore-databases.ts";
import { metastorePassword } from "../../server/test/support/account-metastore.ts";
import type { BenchHeadgate } from "../headgate.ts";
import { record } from "../http/record-statements.ts";
import { median, timed } from "../measure.ts";
import { startProgram } from "../program.ts";
import { LOOKUP } from "./lookup.ts";
import { connectionOf, openMetastore } from "./metastore.ts";
import { sensorRequest, partitionAt, seedPartitions } from "./seed-partitions.ts";

const FEW = 100;
const MANY = 10_000;
const WARM_UP = 100;
const ROUNDS = 500;

type Ways = Readonly<Record<string, (round: number) => Promise<unknown>>>;

/**
 * A partition sensor over HTTP at 100 and 10,000 partitions, alternating with the same lookup by a bare HTTP server and
 * by a bare database client; then with only some of the columns.
 */
export async function benchSensor(headgate: BenchHeadgate): Promise<void> {
  const metastore = await openMetastore(headgate);
  const bare = await startBare(headgate);
  try {
    const [few, many] = [
      await seedPartitions(headgate, metastore, FEW),
      await seedPartitions(headgate, metastore, MANY),
    ];
    const sensor = (table: string, ask: (round: number) => object) => (round: number) =>
      sense(headgate, table, ask(round), "true");
    const somewhere = (count: number) => (round: number) => partitionAt((round * 7919 + WARM_UP * 7919) % count);
    const times = await inTurns({
      many: sensor(many, somewhere(MANY)),
      few: sensor(few, somewhere(FEW)),
      bare: (round) => lookUpBare(bare.url, many, somewhere(MANY)(round)),
      sql: (round) => lookUp(metastore, many, somewhere(MANY)(round)),
      leading: sensor(many, (round) => ({ dt: somewhere(MANY)(round).dt })),
      other: sensor(many, (round) => ({ hour: somewhere(MANY)(round).hour })),
      missing: (round) => sense(headgate, many, { dt: "1990-01-01", hour: round % 10 }, "false"),
      otherMissing: () => sense(headgate, many, { hour: 77 }, "false"),
    });
    report(times);
  } finally {
    await bare.stop();
    await metastore.end();
  }
}

function report(p50: Readonly<Record<string, number>>): void {
  const { many = NaN, few = NaN, bare = NaN, sql = NaN } = p50;
  const ms = (value = NaN): string => `${value.toFixed(2)} ms`;
  console.log(`partition sensor over HTTP at ${MANY} partitions: p50 ${ms(many)}`);
  console.log(`… at ${FEW} partitions ${ms(few)}; ratio ${(many / few).toFixed(2)}`);
  console.log(
    `… one raw lookup by a bare HTTP server with authentication ${ms(bare)}; ratio ${(many / bare).toFixed(2)}`,
  );
  console.log(`… one raw lookup on an open connection to the database ${ms(sql)}; ratio ${(many / sql).toFixed(2)}`);
  console.log(`… a partition that does not exist ${ms(p50.missing)}`);
  console.log(
    `… by the first column ${ms(p50.leading)}, by the second ${ms(p50.other)}, by a second that no partition has ${ms(p50.otherMissing)}`,
  );
}

async function inTurns(ways: Ways): Promise<Record<string, number>> {
  const times = new Map(Object.keys(ways).map((name): [string, number[]] => [name, []]));
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    for (const [name, way] of Object.entries(ways)) {
      const taken = await timed(() => way(round));
      if (round >= 0) times.get(name)?.push(taken);
    }
  }
  return Object.fromEntries(Array.from(times, ([name, values]) => [name, median(values)]));
}

async function sense(headgate: BenchHeadgate, table: string, asked: object, expected: string): Promise<void> {
  const { status } = await headgate.call<{ status: string }>(
    "POST",
    "/partition_sensor",
    sensorRequest(table, { ...asked }),
  );
  if (status !== expected) throw new Error(`${table} ${JSON.stringify(asked)} gave ${status}`);
}

async function lookUp(metastore: Client, table: string, { dt, hour }: { dt: string; hour: number }): Promise<void> {
  const values = ["default", table, `dt=${dt}/hour=${hour}`];
  const { rowCount } = await metastore.query({ name: "lookup", text: LOOKUP, values });
  if (rowCount !== 1) throw new Error("the partition was not found");
}

async function lookUpBare(url: string, table: string, { dt, hour }: { dt: string; hour: number }): Promise<void> {
  const response = await fetch(`${url}/lookup`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ schema: "default", table, name: `dt=${dt}/hour=${hour}` }),
  });
  const { status } = (await response.json()) as { status: string }; // as bare-sensor.ts answers
  if (status !== "true") throw new Error("the partition was not found");
}

async function startBare(headgate: BenchHeadgate): Promise<Awaited<ReturnType<typeof startProgram>>> {
  const product = await connectionOf(headgate);
  const { id: accountId } = await headgate.call<{ id: number }>("GET", "/account");
  const password = await metastorePassword({ connection: product, dataDir: headgate.dataDir, accountId });
  const metastore = new MetastoreDatabases({ connection: product, isEmbedded: true }).readerOf(accountId, password);
  const { operations } = await record(
    headgate.dataDir,
    readFileSync(join(headgate.dataDir, "admin-token"), "utf8").trim(),
  );
  const file = join(headgate.folder, "bare-sensor.json");
  writeFileSync(file, JSON.stringify({ product, metastore, identify: operations.view?.identify }), { mode: 0o600 });
  return startProgram(process.execPath, ["bench/catalog/bare-sensor.ts", file], /ready at (\S+)/, {});
}
