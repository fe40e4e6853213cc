import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { findProcess } from "../src/lib/process-table.ts";

const PATIENCE = { timeout: 45_000 };
const folders = new URL("support/run-folders.ts", import.meta.url).href;

/**
 * Simulates a test run: like a run with runners, it starts processes that are connected to the run only by their
 * folder, and waits to be killed.
 */
const run = `
  import { spawn } from "node:child_process";
  import { tmpdir } from "node:os";
  import { makeRunFolders } from "${folders}";
  const { outsideTmp } = makeRunFolders();
  const start = (argument, env) =>
    spawn("/bin/sh", ["-c", "while :; do sleep 1; done", argument], { env, detached: true, stdio: "ignore" }).pid;
  const pids = [start(tmpdir() + "/a", {}), start(outsideTmp + "/b", {}), start("c", { HOME: tmpdir() })];
  console.log(JSON.stringify({ pids, folders: [tmpdir(), outsideTmp] }));
  setInterval(() => undefined, 60_000);`;

test.skipIf(process.platform !== "linux").each(["SIGTERM", "SIGKILL"] as const)(
  "a test run that is ended by %s leaves no process and no folder",
  async (signal) => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", run], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const said = JSON.parse(line.toString()) as { pids: number[]; folders: string[] }; // printed above
    const left = async (): Promise<unknown[]> => [
      ...(await Promise.all(said.pids.map(findProcess))).filter((facts) => facts !== undefined),
      ...said.folders.filter((folder) => existsSync(folder)),
    ];
    expect(await left()).toHaveLength(5);
    child.kill(signal);
    await expect.poll(left, PATIENCE).toEqual([]);
  },
);
