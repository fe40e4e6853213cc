import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findProcess, type ProcessHandle, startDetached } from "../../processes/detached-process/detached-process.ts";
import { fileNames, render } from "../../processes/runner/protocol.ts";
import { makeStubRuns, type StubRuns } from "../../processes/runner/stub-run.ts";
import { endProgramsBelow } from "./end-programs.ts";

let runs: StubRuns;
let stranger: ProcessHandle | undefined;
let impostor: ChildProcess | undefined;
beforeEach(() => {
  runs = makeStubRuns();
});
afterEach(async () => {
  impostor?.kill("SIGKILL");
  if (stranger !== undefined && (await findProcess(stranger)) === "running") process.kill(stranger.pid, "SIGKILL");
  await runs.dispose();
});

test("a program that looks like a runner cannot make stop --all end a process that is not Headgate's", async () => {
  const account = join(runs.base, "accounts/1");
  const run = runs.open(join(account, "commands/7/attempts/1"));
  await run.start("exec sleep 600");
  await run.running();

  stranger = await startDetached({ argv: ["/bin/sleep", "600"], env: { PATH: "/usr/bin:/bin" }, cwd: "/" });
  const forged = join(account, "storage/forged");
  mkdirSync(forged, { recursive: true });
  writeFileSync(join(forged, fileNames.taken), render({ runner: stranger }));
  impostor = spawn("/bin/sh", ["-c", "read -r line", "/runner.mjs", forged], { cwd: forged });
  await once(impostor, "spawn");

  expect(await endProgramsBelow(runs.base)).toBe(1);
  expect(await run.ended()).toMatchObject({ cause: "cancelled" });
  expect(await findProcess(stranger)).toBe("running");
  expect(existsSync(join(forged, fileNames.cancel))).toBe(false);
});
