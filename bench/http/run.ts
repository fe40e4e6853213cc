/**
 * `node bench/http/run.ts [seconds]`: authenticated GET account and POST whitelist_ip at 64 connections, as a ratio to
 * a bare Fastify handler with the same SQL in the same run (rounds alternate, medians are compared), with the round
 * trips and WAL flushes of one request.
 */
import "../run-folder.ts";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, chmodSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import autocannon from "autocannon";
import { Client } from "pg";
import { costOfOne, median } from "../measure.ts";
import { startProgram, type Program } from "../program.ts";
import { record, type BenchOperation } from "./record-statements.ts";

const CONNECTIONS = 64;
const ROUNDS = 5;
const COUNTED_REQUESTS = 200;
const seconds = Number(process.argv[2] ?? 4);

const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
chmodSync(folder, 0o755);
let headgate: Program | undefined;
let bare: Program | undefined;
try {
  headgate = await startProgram("server/start.sh", [], /ready at (\S+)/, {
    HEADGATE_DATA_DIR: join(folder, "data"),
    HEADGATE_PORT: "0",
    HEADGATE_RATE_LIMIT: "0",
  });
  const token = readFileSync(join(folder, "data", "admin-token"), "utf8").trim();
  const { connection, operations } = await record(join(folder, "data"), token);
  const recordingFile = join(folder, "recording.json");
  writeFileSync(recordingFile, JSON.stringify({ connection, operations }), { mode: 0o600 });
  bare = await startProgram(process.execPath, ["bench/http/bare-server.ts", recordingFile], /ready at (\S+)/, {});

  const client = new Client(connection);
  await client.connect();
  for (const operation of Object.values(operations)) {
    const { url } = headgate;
    const costs = await costOfOne(url, client, COUNTED_REQUESTS, () => send(operation, url, token));
    const [ours, floor] = await compare(operation, headgate.url, bare.url, token);
    const ratio = ours / floor;
    console.log(
      `${operation.name}: ${Math.round(ours)}/s, bare Fastify with the same SQL ${Math.round(floor)}/s, ratio ${ratio.toFixed(2)}; ` +
        `${costs.roundTrips.toFixed(2)} round trips and ${costs.walFlushes.toFixed(2)} WAL flushes a request`,
    );
  }
  await client.end();
} finally {
  await bare?.stop();
  await headgate?.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function compare(
  operation: BenchOperation,
  ours: string,
  floor: string,
  token: string,
): Promise<[number, number]> {
  const rates: [number[], number[]] = [[], []];
  await load(operation, ours, token, 2);
  await load(operation, floor, token, 2);
  for (let round = 0; round < ROUNDS; round += 1) {
    rates[0].push(await load(operation, ours, token, seconds));
    rates[1].push(await load(operation, floor, token, seconds));
  }
  return [median(rates[0]), median(rates[1])];
}

async function load({ method, path }: BenchOperation, url: string, token: string, duration: number): Promise<number> {
  const result = await autocannon({
    url: `${url}${path}`,
    connections: CONNECTIONS,
    duration,
    method,
    headers: { "X-AUTH-TOKEN": token, "Content-Type": "application/json" },
    ...(method === "POST"
      ? {
          requests: [
            { method, path, setupRequest: (request: autocannon.Request) => ({ ...request, body: newAddress() }) },
          ],
        }
      : {}),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refusals, ${result.errors} errors`);
  return result["2xx"] / result.duration;
}

async function send({ method, path }: BenchOperation, url: string, token: string): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "X-AUTH-TOKEN": token, "Content-Type": "application/json" },
    ...(method === "POST" ? { body: newAddress() } : {}),
  });
  await response.text();
}

function newAddress(): string {
  const byte = (): number => Math.floor(Math.random() * 256);
  return JSON.stringify({ ip_cidr: `10.${byte()}.${byte()}.${byte()}` });
}
