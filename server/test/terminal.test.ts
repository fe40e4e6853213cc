import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import { findProcessLinks, listProcesses, listProcessLinks } from "../src/lib/process-table.ts";
import { operatorClient, startHeadgate, temporaryDataDir, type HeadgateProcess } from "./support/headgate-process.ts";
import { freePort, isFree } from "./support/free-port.ts";
import { pretendRunner } from "./support/pretended-runner.ts";
import { onTerminal } from "./support/pty.ts";
import { Screen } from "./support/screen.ts";

const dataDir = temporaryDataDir(); // shared by both tests: creating a database takes longer than they do
const PATIENCE = { timeout: 45_000 };
let headgate: HeadgateProcess | undefined;

afterEach(async () => {
  await headgate?.stop();
  headgate = undefined;
});
afterAll(() => dataDir.remove());

const REFRESH = { template: "s3import", db_name: "default", hive_table: "orders", name: "nightly" };
const ON_TERMINAL = { TERM: "xterm-256color" };

function screen(): string[] {
  const seen = new Screen();
  seen.write(headgate?.stdout() ?? "");
  return seen.lines;
}

/** Holds the lock of this cache, so that Spark's set-up waits. */
function cacheBeingSetUp(): { path: string; release(): void } {
  const path = join(dataDir.path, "cache");
  mkdirSync(path, { mode: 0o755 });
  const lock = new DatabaseSync(join(path, "spark-set-up.lock"));
  lock.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE");
  return { path, release: () => lock.close() };
}

test("on a terminal every event is one short line, and the progress line of Spark's set-up breaks none of them", async () => {
  const cache = cacheBeingSetUp();
  const settings = {
    ...ON_TERMINAL,
    NO_COLOR: "",
    HEADGATE_CACHE_DIR: cache.path,
    HEADGATE_ISOLATION: "none", // fetches nothing into the empty cache
    HEADGATE_DATADIR: "x",
  };
  headgate = await startHeadgate(dataDir.path, settings, { wrapper: onTerminal(100) });
  await vi.waitFor(() => expect(screen().at(-1)).toMatch(/^Setting up Spark: \S.* \d:\d\d$/), PATIENCE);
  const operator = operatorClient(headgate, dataDir.path);
  await operator.get("/account");
  await operator.get("/no-such-thing?secret=hunter2").refused(404, /./);
  await operator.post("/commands", REFRESH);
  await vi.waitFor(() => expect(screen().join("\n")).toContain("error"), PATIENCE);
  await headgate.stop();
  cache.release();

  const lines = screen();
  expect(lines).toContainEqual(expect.stringMatching(/^\d\d:\d\d:\d\d {2}WARNING {2}the variable HEADGATE_DATADIR is/));
  expect(lines).toContainEqual(
    expect.stringMatching(/^\d\d:\d\d:\d\d {2}GET {5}\/api\/v1.2\/account {2}200 {2}\d+ ms$/),
  );
  expect(lines).toContainEqual(
    expect.stringMatching(/^\d\d:\d\d:\d\d {2}GET {5}\/api\/v1.2\/no-such-thing {2}404 {2}\d+ ms$/),
  );
  const run = String.raw`^\d\d:\d\d:\d\d {2}command \d+ {2}admin@localhost {2}HiveCommand "nightly" {2}`;
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(`${run}started$`)));
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(`${run}error {2}[0-9.]+ s$`)));
  expect(lines.at(-1)).toMatch(/ stopping \(signal SIGTERM\)$/);
  // Every line is complete: an event, or a text of the first run.
  const event = /^\d\d:\d\d:\d\d {2}\S/;
  const said =
    /^(Copying PostgreSQL|Creating the database|First run:|Try: curl|Headgate is ready|Adding|Making|Listening)/;
  expect(lines.filter((line) => !event.test(line) && !said.test(line))).toEqual([]);
  expect(headgate.stdout()).not.toContain('{"level"');
  expect(headgate.stdout()).not.toContain("hunter2");
  expect(headgate.stdout()).toContain("\u001b[32m200\u001b[39m");
});

test("closing the terminal stops the server cleanly, including the database", async () => {
  headgate = await startHeadgate(dataDir.path, ON_TERMINAL, { wrapper: onTerminal(100) });
  const { pid } = headgate;
  const ours = async (): Promise<string[]> =>
    (await listProcesses())
      .filter((each) => each.pid === pid || each.commandLine.includes(`-D ${dataDir.path}/postgres/data `))
      .map(({ commandLine }) => commandLine);
  expect((await ours()).length).toBeGreaterThanOrEqual(2); // children that PostgreSQL has just forked have its command line too
  const terminal = (await listProcessLinks()).find((each) => each.pid === pid)?.parentPid ?? 0;
  process.kill(terminal, "SIGKILL");
  await vi.waitFor(async () => expect(await ours()).toEqual([]), { ...PATIENCE, interval: 100 });
  headgate = undefined;
});

test("Ctrl-C also ends the process that holds the port, although a program seems to run", async () => {
  const port = await freePort();
  const settings = { ...ON_TERMINAL, HEADGATE_PORT: String(port) };
  headgate = await startHeadgate(dataDir.path, settings, { wrapper: onTerminal(100) });
  const runner = pretendRunner(dataDir.path);
  onTestFinished(() => runner.end());
  const { pid } = headgate;
  process.kill(pid, "SIGINT"); // as the terminal does
  await vi.waitFor(async () => expect(await findProcessLinks(pid)).toBeUndefined(), PATIENCE);
  headgate = undefined;
  expect(await isFree(port)).toBe(true);
});

test("if stderr is not a terminal, the log is JSON lines, including those of commands", async () => {
  headgate = await startHeadgate(dataDir.path);
  await operatorClient(headgate, dataDir.path).post("/commands", REFRESH);
  await vi.waitFor(() => expect(headgate?.stderr()).toContain('"command ended"'), PATIENCE);
  const records = headgate
    .stderr()
    .trim()
    .split("\n")
    .filter((line) => !line.startsWith("Warning: Ignoring extra certs")) // printed by Node itself
    .map((line): unknown => JSON.parse(line));
  const run = { accountId: 1, email: "admin@localhost", type: "HiveCommand", name: "nightly", attempt: 1 };
  expect(records).toContainEqual(expect.objectContaining({ ...run, msg: "command started" }));
  expect(records).toContainEqual(
    expect.objectContaining({ ...run, msg: "command ended", status: "error", seconds: expect.any(Number) }),
  );
  expect(records).toContainEqual(expect.objectContaining({ method: "POST", path: "/api/v1.2/commands", status: 200 }));
});
