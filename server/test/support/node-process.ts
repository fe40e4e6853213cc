/**
 * A node that can be killed. It uses the stub driver, with `TEST_STANDBY` a standby stub driver, or with `TEST_SPARK`
 * Spark. With `TEST_STUB_COPIES` it uses the stub of the copy program.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ClientConfig } from "pg";
import { testCacheDir } from "./cache-dir.ts";

export interface NodeProcess {
  readonly url: string;
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
  /** Kills it without a chance to clean up. */
  crash(): Promise<void>;
  /** Sends SIGTERM and settles when the process is gone. */
  stop(): Promise<void>;
  /** Also ends its programs and servers. */
  stopEverything(): Promise<void>;
}

/** Started with the options of `npm start`. */
const program = fileURLToPath(new URL("node-main.ts", import.meta.url));

export async function startNode(
  dataDir: string,
  connection: ClientConfig,
  settings: Record<string, string> = {},
): Promise<NodeProcess> {
  const child = spawn(process.execPath, ["--max-semi-space-size=4", program], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env.PATH ?? "",
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      HOME: dataDir,
      HEADGATE_CACHE_DIR: testCacheDir(),
      CONNECTION: JSON.stringify(connection),
      HEADGATE_PORT: "0",
      HEADGATE_DATA_DIR: dataDir,
      HEADGATE_LOW_DISK: "0",
      HEADGATE_RATE_LIMIT: "0",
      HEADGATE_RUN_NICE: "0", // on a busy machine a test would wait minutes for a Spark that yields to all others
      ...(process.env.TEST_LOG === undefined ? {} : { TEST_LOG: process.env.TEST_LOG }),
      ...settings,
    },
  });
  const gone = once(child, "exit");
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const ready = /ready (\S+)/.exec(said);
      if (ready?.[1] !== undefined) resolve(ready[1]);
    });
    child.once("exit", (code) => reject(new Error(`the node ended with ${code}: ${said}`)));
  });
  const { pid } = child;
  if (pid === undefined) throw new Error("the node has no pid");
  return {
    url,
    pid,
    signal: (name) => child.kill(name),
    async crash() {
      child.kill("SIGKILL");
      await gone;
    },
    async stop() {
      child.kill("SIGTERM");
      await gone;
    },
    async stopEverything() {
      child.kill("SIGINT");
      await gone;
    },
  };
}
