import { startHostileConnect } from "../../server/test/support/hostile-connect.ts";
import type { Attack } from "./attacks.ts";
import { call } from "./call-as-attacker.ts";
import type { Installation } from "./installation.ts";
import type { Counts } from "./request-attacks.ts";

/** Messages just within the limits, messages far beyond them, and one stream without an end. */
const QUERIES: readonly [string, ...string[]] = [
  "20,000 columns",
  "4 million stages",
  "9,999 stages",
  "7 MiB of rows",
  "425,000 stages",
  "200,000 columns",
  "gzip bomb",
  "many details",
];
const ENDLESS = "flood";
const LABEL = "hostile";

/** An attack by the messages of a Spark Connect server that the attacker operates. */
export function byConnectServer(parallel: number): Attack["prepare"] {
  return async (installation) => {
    const hostile = await startHostileConnect();
    const engine = { type: "connect", url: hostile.url };
    const created = await fetch(`${installation.url}/api/v2/clusters`, {
      method: "POST",
      headers: { "X-AUTH-TOKEN": installation.attacker.token, "Content-Type": "application/json" },
      body: JSON.stringify({ labels: [LABEL], engine }),
    });
    if (!created.ok) throw new Error(`the cluster was not created: ${await created.text()}`);
    // The first query starts the cluster, and loads code that every later query uses.
    await endOf(installation, await submit(installation, QUERIES[0]));
    return async (seconds) => {
      try {
        return await runQueries(installation, parallel, seconds);
      } finally {
        await hostile.stop();
      }
    };
  };
}

async function runQueries(installation: Installation, parallel: number, seconds: number): Promise<string> {
  const end = performance.now() + seconds * 1000;
  const counts: Counts = {};
  let index = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const name = QUERIES[index++ % QUERIES.length] ?? "";
      const how = `${name}: ${await endOf(installation, await submit(installation, name))}`;
      counts[how] = (counts[how] ?? 0) + 1;
    }
  };
  const endless = await submit(installation, ENDLESS);
  await Promise.all(Array.from({ length: parallel }, client));
  await call(installation, "PUT", `/commands/${endless}`, JSON.stringify({ status: "kill" }));
  return Object.entries(counts)
    .map(([how, count]) => `${count} × ${how}`)
    .join(", ");
}

async function submit(installation: Installation, sql: string): Promise<number> {
  const body = JSON.stringify({ command_type: "SparkCommand", sql, label: LABEL });
  const { id = 0 } = await call(installation, "POST", "/commands", body);
  return id;
}

async function endOf(installation: Installation, id: number): Promise<string> {
  const { status = "no answer" } = await call(installation, "GET", `/commands/${id}?wait_seconds=20`);
  return status;
}
