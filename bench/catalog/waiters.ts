import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import type { BenchHeadgate } from "../headgate.ts";
import { openMetastore } from "./metastore.ts";
import { sensorRequest, partitionAt, seedPartitions } from "./seed-partitions.ts";

const WAITERS = 1000;
const MEASURED_SECONDS = 30;
const PARTITIONS = 1000;

/**
 * A thousand waiting sensors, first all for the same partition, then each for another. Measures the statements per
 * minute in the metastore's database, by its own counters, and the memory of the server.
 */
export async function benchWaiters(headgate: BenchHeadgate): Promise<void> {
  const metastore = await openMetastore(headgate);
  try {
    const table = await seedPartitions(headgate, metastore, PARTITIONS);
    await delay(20_000); // until the Spark that created the table is idle
    const idle = await statements(metastore);
    console.log(`metastore's database without waiting sensors: ${idle.toFixed(0)} statements a minute`);
    for (const [what, questions] of [
      ["one partition", 1],
      [`${WAITERS} partitions`, WAITERS],
    ] as const) {
      const before = memoryMiB(headgate);
      const { answers, end } = waitAll(headgate, table, questions);
      const counted = await statements(metastore);
      const grown = memoryMiB(headgate) - before;
      end();
      await Promise.allSettled(answers);
      console.log(
        `${WAITERS} sensors waiting for ${what}: ${counted.toFixed(0)} statements a minute, ` +
          `${grown.toFixed(0)} MiB more memory (${((grown * 1024) / WAITERS).toFixed(0)} KiB each)`,
      );
    }
  } finally {
    await metastore.end();
  }
}

/** Transactions in the database without the one that counts them; each statement of the product is one. */
async function statements(metastore: Client): Promise<number> {
  const count = async (): Promise<number> => {
    const { rows } = await metastore.query<{ done: string }>(
      "select xact_commit + xact_rollback as done from pg_stat_database where datname = current_database()",
    );
    return Number(rows[0]?.done);
  };
  await delay(5_000); // PostgreSQL publishes its counters at most once a second
  const before = await count();
  await delay(MEASURED_SECONDS * 1000);
  return ((await count()) - before - 1) * (60 / MEASURED_SECONDS);
}

function waitAll(
  { url, dataDir }: BenchHeadgate,
  table: string,
  questions: number,
): { answers: Promise<void>[]; end: () => void } {
  const token = readFileSync(join(dataDir, "admin-token"), "utf8").trim();
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  const answers = Array.from({ length: WAITERS }, (_, at) => {
    const { dt, hour } = partitionAt(PARTITIONS + (at % questions));
    const body = JSON.stringify({ ...sensorRequest(table, { dt, hour }), wait_seconds: 300 });
    return new Promise<void>((resolve, reject) => {
      const headers = { "X-AUTH-TOKEN": token, "Content-Length": Buffer.byteLength(body) };
      request(`${url}/api/v1.2/partition_sensor`, { method: "POST", agent, headers }, (response) => {
        response.resume();
        response.once("end", () => reject(new Error(`answered with ${response.statusCode} too early`)));
      })
        .once("error", () => resolve())
        .end(body);
    });
  });
  return { answers, end: () => agent.destroy() };
}

function memoryMiB({ pid }: BenchHeadgate): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kibibytes) / 1024;
}
