import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeTree } from "../tree-removal/remove-tree.ts";
import { findProcess, type ProcessHandle } from "../detached-process/detached-process.ts";
import { listSession } from "../detached-process/stop-session.ts";
import { markOf } from "./mark.ts";
import type { Order } from "./protocol.ts";
import { openRunnerClient } from "./runner-client.ts";
import { makeStubRuns, type StubRun, type StubRuns } from "./stub-run.ts";

/** Waiting programs are shells that run their order, under real runners. */
let runs: StubRuns;
beforeEach(() => {
  runs = makeStubRuns();
});
afterEach(async () => runs.dispose());

const PATIENCE = { timeout: 45_000 };
const GREETING = "READY\n";
/** A complete order ends with the word `end`; a partial one is ignored. */
const waiter = 'echo READY; order=$(cat); case $order in *end) eval "${order%end}" ;; esac';

const order = (input: string, changes: Partial<Order> = {}): Order => ({
  input: `${input}\nend`,
  timeoutSeconds: null,
  checkSeconds: 1,
  elapsedSeconds: 0,
  ...changes,
});

interface Waiting {
  readonly run: StubRun;
  readonly runner: ProcessHandle;
  readonly driver: ProcessHandle;
}

async function startWaiting(script = waiter): Promise<Waiting> {
  const run = runs.make();
  const runner = await run.start(script, {}, { greeting: GREETING, waitSeconds: 600 });
  await expect.poll(() => run.client.observe(), PATIENCE).toMatchObject({ state: "waiting", isReady: true });
  const { driver } = JSON.parse(run.read("status.json")) as { driver: ProcessHandle }; // written by the runner
  return { run, runner, driver };
}

async function expectNothingLeft({ runner, driver }: Waiting): Promise<void> {
  const left = async (): Promise<unknown[]> => [
    await findProcess(runner),
    ...(await listSession(runner)),
    ...(await listSession(driver)),
  ];
  await expect.poll(left, PATIENCE).toEqual(["gone"]);
}

describe("a program that waits", () => {
  test("runs exactly one order, and its output begins after the greeting", async () => {
    const { run } = await startWaiting(`echo early >&2; ${waiter}`);
    run.client.order(order("echo out; echo err >&2; exit 3"));
    run.client.order(order("echo twice"));
    expect(run.client.abandon()).toBe(false);
    expect(await run.ended()).toMatchObject({ cause: "exited", exitCode: 3, startedAt: expect.any(String) });
    expect([run.read("output"), run.read("log")]).toEqual(["out\n", "early\nerr\n"]);
  });

  test("runs its order also after its folder was moved", async () => {
    const { run } = await startWaiting();
    const moved = join(runs.base, "elsewhere/attempt");
    mkdirSync(dirname(moved));
    renameSync(run.folder, moved);
    const client = openRunnerClient(moved);
    client.order(order("echo moved"));
    expect(await client.waitForEnd()).toMatchObject({ state: "ended", status: { exitCode: 0 } });
    expect(readFileSync(join(moved, "output"), "utf8")).toBe("moved\n");
    expect(existsSync(run.folder)).toBe(false);
  });

  test("can be cancelled after its order, and its timeout counts from the order", async () => {
    const { run } = await startWaiting();
    run.client.order(order("sleep 600", { timeoutSeconds: 11, elapsedSeconds: 10 }));
    const status = await run.ended();
    expect(status).toMatchObject({ cause: "timeout", message: expect.stringContaining("after 11 s") });
    expect(Date.parse(status.endedAt ?? "") - Date.parse(status.startedAt ?? "")).toBeLessThan(9000);
    const other = await startWaiting();
    other.run.client.order(order("sleep 600"));
    await other.run.running();
    await other.run.client.cancel();
    expect(await other.run.ended()).toMatchObject({ cause: "cancelled" });
  });

  test("ends without an order once it is abandoned", async () => {
    const waiting = await startWaiting();
    const { client } = waiting.run;
    expect(client.abandon()).toBe(true);
    expect(client.abandon()).toBe(true);
    client.order(order(`touch ${runs.base}/ran`));
    expect(await client.waitUntilGone(AbortSignal.timeout(45_000))).toBe(true);
    await expectNothingLeft(waiting);
    expect(await client.observe()).toMatchObject({ state: "ended", status: { cause: "unused", startedAt: null } });
    expect(existsSync(join(runs.base, "ran"))).toBe(false);
  });

  test.each([
    ["ends by itself", "echo READY; exec sleep 0.3"],
    ["does not write its greeting", "echo something else; exec sleep 600"],
  ])("and %s has not run", async (_what, script) => {
    const run = runs.make();
    await run.start(script, {}, { greeting: GREETING, waitSeconds: 60 });
    expect(await run.ended()).toMatchObject({ cause: "unused", startedAt: null, exitCode: null });
  });

  test("is ended when its waiting time is over", async () => {
    const run = runs.make();
    const runner = await run.start(waiter, {}, { greeting: GREETING, waitSeconds: 1 });
    expect(await run.ended()).toMatchObject({ cause: "unused" });
    await expect.poll(() => findProcess(runner), PATIENCE).toBe("gone");
    await expect.poll(() => listSession(runner, markOf(runner)), PATIENCE).toEqual([]);
  });
});

describe("when processes and folders disappear", () => {
  test("a killed runner without an order leaves no process, and its program has not run", async () => {
    const waiting = await startWaiting();
    process.kill(waiting.runner.pid, "SIGKILL");
    await expectNothingLeft(waiting);
    expect(await waiting.run.client.observe()).toMatchObject({ state: "lost", mayHaveRun: false });
  });

  test("an order that its runner did not read before it died has not run", async () => {
    const waiting = await startWaiting();
    process.kill(waiting.runner.pid, "SIGSTOP");
    waiting.run.client.order(order(`touch ${runs.base}/ran`));
    expect(await waiting.run.client.observe()).toMatchObject({ state: "starting" });
    process.kill(waiting.runner.pid, "SIGKILL");
    await expectNothingLeft(waiting);
    expect(await waiting.run.client.observe()).toMatchObject({ state: "lost", mayHaveRun: false });
    expect(existsSync(join(runs.base, "ran"))).toBe(false);
  });

  test("a runner that is killed after its order leaves a program that may have run", async () => {
    const waiting = await startWaiting();
    waiting.run.client.order(order("echo begun; sleep 600"));
    await waiting.run.printed("begun");
    process.kill(waiting.runner.pid, "SIGKILL");
    await expectNothingLeft(waiting);
    expect(await waiting.run.client.observe()).toMatchObject({ state: "lost", mayHaveRun: true });
  });

  test("a waiting program ends when its folder is removed, even if another folder replaces it", async () => {
    const waiting = await startWaiting();
    await removeTree(waiting.run.folder);
    mkdirSync(waiting.run.folder);
    const wrong = order(`touch ${runs.base}/ran`);
    writeFileSync(join(waiting.run.folder, "order.json"), JSON.stringify({ version: 2, order: wrong }));
    await expectNothingLeft(waiting);
    expect(existsSync(join(runs.base, "ran"))).toBe(false);
  });
});
