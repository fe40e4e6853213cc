import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { Secret } from "../../src/lib/secret.ts";
import { openConnect } from "../../src/engines/spark-connect/spark-connect.ts";
import { typeText } from "../../src/engines/spark-connect/spark-type.ts";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";
import { startConnectServer } from "../../test/support/connect-server.ts";
import type { ValueCase } from "./cases.ts";

/** What Spark sends for a query, and what its command line shows for it. */
export interface CapturedValues {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly batches: readonly { readonly rows: number; readonly base64: string }[];
  /** Lines end as the command line ends them: with a line feed. */
  readonly text: string;
}

export async function captureValues(home: SparkHome, cases: readonly ValueCase[]): Promise<CapturedValues[]> {
  const sent = await captureBatches(home, cases);
  const shown = await captureText(home, cases);
  return cases.map(({ name }, i) => ({ name, ...(sent[i] ?? NOTHING), text: shown[i] ?? "" }));
}

type Sent = Pick<CapturedValues, "columns" | "batches">;
const NOTHING: Sent = { columns: [], batches: [] };

async function captureBatches(home: SparkHome, cases: readonly ValueCase[]): Promise<Sent[]> {
  const server = await startConnectServer(home);
  const { host, port, token } = server;
  const channel = openConnect({ host, port, token: new Secret(token), sessionUser: "values" });
  try {
    const all: Sent[] = [];
    for (const { name, sql, settings = {} } of cases) {
      const session = channel.session();
      await session.setConfig(settings);
      try {
        all.push(await sentFor(session.execute(sql, { operationId: randomUUID() })));
      } catch (error) {
        throw new Error(`the case ${name} failed`, { cause: error });
      }
      await session.release();
    }
    return all;
  } finally {
    channel.close();
    await server.stop();
  }
}

type Events = ReturnType<ReturnType<ReturnType<typeof openConnect>["session"]>["execute"]>;

async function sentFor(events: Events): Promise<Sent> {
  let columns: CapturedValues["columns"] = [];
  const batches: { rows: number; base64: string }[] = [];
  let parts: Uint8Array[] = [];
  for await (const event of events) {
    if (event.kind === "schema") columns = event.fields.map(({ name, type }) => ({ name, type: typeText(type) }));
    if (event.kind !== "batch") continue;
    parts.push(event.data);
    if (event.part < event.parts - 1) continue;
    batches.push({ rows: event.rowCount, base64: Buffer.concat(parts).toString("base64") });
    parts = [];
  }
  return { columns, batches };
}

const mark = (number: number): string => `#### ${number} ####`;

/** All queries in one run of `spark-sql`, with a line of ours between them. */
async function captureText(home: SparkHome, cases: readonly ValueCase[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-spark-sql-"));
  try {
    const script = cases.map(({ sql, settings = {} }, i) => {
      const set = Object.entries(settings).map(([key, value]) => `SET ${key}=${value};`);
      const reset = Object.keys(settings).map((key) => `RESET ${key};`);
      return [...set, `SELECT '${mark(i)}';`, `${sql};`, `SELECT '${mark(i)}';`, ...reset].join("\n");
    });
    const file = join(folder, "script.sql");
    writeFileSync(file, script.join("\n"));
    const shown = await runCommandLine(home, folder, file);
    return cases.map((_, i) => shown.split(`${mark(i)}\n`)[1] ?? "");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runCommandLine(home: SparkHome, folder: string, file: string): Promise<string> {
  const words = [
    `@${home.javaArguments}`,
    "-Xmx1g",
    `-Dderby.system.home=${folder}`,
    "org.apache.spark.deploy.SparkSubmit",
    "--conf",
    "spark.master=local[1]",
    "--conf",
    "spark.ui.enabled=false",
    "--conf",
    `spark.sql.warehouse.dir=${join(folder, "warehouse")}`,
    "--class",
    "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver",
    "spark-internal",
    "-f",
    file,
  ];
  const env = {
    PATH: "/usr/bin:/bin",
    HOME: folder,
    SPARK_HOME: home.folder,
    SPARK_LOCAL_IP: "127.0.0.1",
    LC_ALL: "C.UTF-8",
  };
  const child = spawn(home.java.path, words, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit");
  const [output, log] = await Promise.all([buffer(child.stdout), text(child.stderr)]);
  const [exitCode] = (await ended) as unknown[]; // an event's arguments
  if (exitCode !== 0) throw new Error(`spark-sql ended with ${String(exitCode)}:\n${log.slice(-4000)}`);
  return output.toString("utf8");
}
