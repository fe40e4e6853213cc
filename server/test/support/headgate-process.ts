import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listProcessLinks } from "../../src/lib/process-table.ts";
import { Client } from "./client.ts";
import { repositoryDir } from "./repository-dir.ts";
import { DATABASES_FOLDER } from "./run-folders.ts";

/** The real program, as `npm start` runs it, with a data directory of the test. */
export interface HeadgateProcess {
  url: string;
  pid: number;
  stdout(): string;
  stderr(): string;
  /** Kills it without a chance to clean up. */
  crash(): Promise<void>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>;
}

/** In memory if there is room. Tests that run programs cannot use it, because a sandbox has its own /dev/shm. */
export function temporaryDataDir(): { path: string; remove(): void } {
  const path = mkdtempSync(join(process.env[DATABASES_FOLDER] ?? tmpdir(), "headgate-process-"));
  chmodSync(path, 0o755);
  return {
    path,
    remove: () => {
      rmSync(path, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}

/** Changes to the default, which is this checkout and the current user. */
export interface Manner {
  entry?: string;
  /** The user of the process, if the tests run as root. */
  identity?: { uid: number; gid: number };
  /** A program with arguments that runs it as a child. */
  wrapper?: readonly string[];
}

export async function startHeadgate(
  dataDir: string,
  settings: Record<string, string> = {},
  manner: Manner = {},
): Promise<HeadgateProcess> {
  const child = spawnHeadgate(["start"], { HEADGATE_DATA_DIR: dataDir, HEADGATE_PORT: "0", ...settings }, manner);
  const exited = once(child, "exit") as Promise<[number | null, string | null]>;
  let stdout = "";
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`Headgate ended with ${code}: ${stdout}${stderr}`)));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      const ready = /Headgate is ready at (\S+)/.exec(stdout);
      if (ready?.[1] !== undefined) resolve(ready[1]);
    });
  });
  const pid = manner.wrapper === undefined ? child.pid : await onlyChildOf(child.pid);
  if (pid === undefined) throw new Error("Headgate has no pid");
  const signal = (name: NodeJS.Signals): boolean => {
    const isWrapped = manner.wrapper !== undefined;
    if (isWrapped && child.exitCode !== null) return false; // a wrapper exits after its program
    return isWrapped ? process.kill(pid, name) : child.kill(name);
  };
  return {
    url,
    pid,
    stdout: () => stdout,
    stderr: () => stderr,
    async crash() {
      signal("SIGKILL");
      await exited;
    },
    async stop() {
      signal("SIGTERM");
      const [code] = await exited;
      return code;
    },
  };
}

/** Signals go to the program itself, because the end of a wrapper would not end it. */
async function onlyChildOf(wrapperPid: number | undefined): Promise<number | undefined> {
  return (await listProcessLinks()).find(({ parentPid }) => parentPid === wrapperPid)?.pid;
}

export function spawnHeadgate(
  args: readonly string[],
  settings: Record<string, string>,
  { entry = join(repositoryDir, "server/headgate.mjs"), identity, wrapper = [] }: Manner = {},
): ChildProcess {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => isInherited(name)));
  const [program = process.execPath, ...rest] = [...wrapper, process.execPath, entry, ...args];
  return spawn(program, rest, {
    env: { ...inherited, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
    ...identity,
  });
}

export function operatorClient(headgate: HeadgateProcess, dataDir: string): Client {
  return new Client(headgate.url, readFileSync(join(dataDir, "admin-token"), "utf8").trim());
}

/**
 * Settings in the environment of the test run must not affect the server under test; the cache is shared on purpose.
 */
function isInherited(name: string): boolean {
  return (
    name === "HEADGATE_CACHE_DIR" ||
    !(name.startsWith("HEADGATE_") || name === "DATABASE_URL" || name === "NODE_OPTIONS")
  );
}
