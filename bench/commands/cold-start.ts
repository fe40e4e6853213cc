import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { pino } from "pino";
import { readConfig } from "../../server/src/config.ts";
import { ensureSparkHome, type SparkHome } from "../../server/src/engines/spark-home/spark-home.ts";
import { repositoryDir } from "../../server/test/support/repository-dir.ts";
import { median } from "../measure.ts";
import { startProgram } from "../program.ts";

const ROUNDS = 3;
const PROGRAM = `from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.sql("select 1 as one").collect()[0].one)
spark.stop()
`;

/** A Python command from its submission until its client knows that it is done, and the same program by hand, in turns. */
export async function benchColdStart(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
  chmodSync(folder, 0o755);
  const home = await sparkHome();
  const dataDir = join(folder, "data");
  const headgate = await startProgram(process.execPath, ["server/headgate.mjs", "start"], /ready at (\S+)/, {
    HEADGATE_DATA_DIR: dataDir,
    HEADGATE_PORT: "0",
  });
  try {
    const token = readFileSync(join(dataDir, "admin-token"), "utf8").trim();
    const times: [number[], number[]] = [[], []];
    // The first of each reads files that nobody has read for a while.
    for (let round = -1; round < ROUNDS; round += 1) {
      const ours = await timed(() => byHeadgate(headgate.url, token));
      const byHand = await timed(() => bySparkSubmit(home, folder));
      if (round < 0) continue;
      times[0].push(ours);
      times[1].push(byHand);
    }
    const [ours, byHand] = times.map(median) as [number, number]; // of two
    console.log(
      `a cold Python command: ${ours.toFixed(2)} s from submission to done, ` +
        `spark-submit by hand ${byHand.toFixed(2)} s, ratio ${(ours / byHand).toFixed(2)}`,
    );
  } finally {
    await headgate.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The one that the server uses too. */
function sparkHome(): Promise<SparkHome> {
  const log = pino({ level: "silent" });
  const isRoot = process.getuid?.() === 0;
  const { cacheDir, sparkHome, javaHome } = readConfig(process.env, { repositoryDir, isRoot, readFile: readText });
  return ensureSparkHome({
    cacheDir,
    sparkHome: sparkHome ?? undefined,
    javaHome: javaHome ?? undefined,
    signal: new AbortController().signal,
    progress: () => undefined,
    warn: (message) => log.warn(message),
  });
}

function readText(path: string): string {
  return readFileSync(path, "utf8");
}

async function timed(work: () => Promise<string>): Promise<number> {
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  if (result.trim() !== "1" && result !== "done") throw new Error(`the program did not run: ${result}`);
  return seconds;
}

async function byHeadgate(url: string, token: string): Promise<string> {
  const call = async (method: string, path: string, body?: object): Promise<{ id: number; status: string }> => {
    const response = await fetch(`${url}/api/v1.2${path}`, {
      method,
      headers: { "X-AUTH-TOKEN": token, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: number; status: string }; // the command object of §2.2
  };
  const { id } = await call("POST", "/commands", {
    command_type: "SparkCommand",
    language: "python",
    program: PROGRAM,
  });
  for (;;) {
    const { status } = await call("GET", `/commands/${id}?wait_seconds=60`);
    if (status !== "waiting" && status !== "running") return status;
    await delay(10);
  }
}

async function bySparkSubmit(home: SparkHome, folder: string): Promise<string> {
  const program = join(folder, "program.py");
  writeFileSync(program, PROGRAM);
  const { stdout } = await promisify(execFile)(
    join(home.folder, "bin/spark-submit"),
    ["--master", "local[*]", program],
    {
      cwd: folder,
      env: {
        PATH: "/usr/bin:/bin",
        HOME: folder,
        SPARK_HOME: home.folder,
        JAVA_HOME: home.java.home,
        SPARK_LOCAL_IP: "127.0.0.1",
        PYSPARK_PYTHON: home.python.path,
      },
    },
  );
  return stdout;
}
