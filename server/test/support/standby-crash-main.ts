import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { scope, standbyParts, type Step } from "./standby-steps.ts";

/** A node that is killed after one of the steps: `node standby-crash-main.ts <data> <step> <program>`. */
const [dataDir = "", last = "", program = ""] = process.argv.slice(2);
const { standbys, executor, run } = await standbyParts(dataDir, program);
const folder = join(dataDir, "accounts", String(scope.accountId), "standby");

const isWaiting = (): boolean =>
  existsSync(folder) &&
  readdirSync(folder).some((name) => {
    const status = join(folder, name, "status.json");
    return existsSync(status) && readFileSync(status, "utf8").includes('"waiting"');
  });

const reached = (step: Step): void => {
  if (step === last) process.kill(process.pid, "SIGKILL");
};

// A standby driver is started after the first program.
await standbys.take(scope, "same", run.files.folder);
standbys.noteEnd(scope);
standbys.keepWithin({ freeMiB: 1000, spareMiB: 1000 });
while (!isWaiting()) await delay(20);
reached("waiting");
if (last === "taken") {
  if (!(await standbys.take(scope, "same", run.files.folder))) throw new Error("no standby driver was taken");
  reached("taken");
}
const prepared = await executor.prepare(run, new AbortController().signal);
if (isWaiting()) throw new Error("the waiting driver was not taken");
reached("prepared");
const live = await prepared.spawn();
reached("spawned");
await live.begin();
reached("ordered");
