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

test("on a terminal every event is one short line, and Ctrl-C ends even the process that holds the port", async () => {
  const cache = cacheBeingSetUp();
  const port = await freePort();
  const settings = {
    ...ON_TERMINAL,
    HEADGATE_PORT: String(port),
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
  const runner = pretendRunner(dataDir.path);
  onTestFinished(() => runner.end());
  const { pid } = headgate;
  process.kill(pid, "SIGINT"); // as the terminal does
  await vi.waitFor(async () => expect(await findProcessLinks(pid)).toBeUndefined(), PATIENCE);
  cache.release();
  expect(await isFree(port)).toBe(true);

  const lines = await vi.waitFor(() => {
    const shown = screen();
    expect(shown.at(-1)).toMatch(/ stopping \(signal SIGINT\)$/);
    return shown;
  }, PATIENCE);
  const output = headgate.stdout();
  headgate = undefined;
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
  // Every line is complete: an event, or a text of the first run.
  const event = /^\d\d:\d\d:\d\d {2}\S/;
  const said =
    /^(Copying PostgreSQL|Creating the database|First run:|Try: curl|Headgate is ready|Adding|Making|Listening)/;
  expect(lines.filter((line) => !event.test(line) && !said.test(line))).toEqual([]);
  expect(output).not.toContain('{"level"');
  expect(output).not.toContain("hunter2");
  expect(output).toContain("\u001b[32m200\u001b[39m");
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
