/** Real nodes, runners and drivers are killed during runs. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createAccountWithAdmin } from "../src/accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../src/clusters/default-cluster.ts";
import { commandFiles } from "../src/commands/execution/command-files.ts";
import { openDatabase, type Database } from "../src/db/database.ts";
import { openRunnerClient } from "../src/processes/runner/runner-client.ts";
import { newKey, writeKeys } from "../src/lib/key-ring.ts";
import { listProcesses } from "../src/lib/process-table.ts";
import { useSeaweedFs } from "./seaweedfs/seaweedfs.ts";
import { Client } from "./support/client.ts";
import { startNode, type NodeProcess } from "./support/node-process.ts";
import { submitProgram } from "./support/programs.ts";
import { copyEnd, printReport, submitCopy } from "./support/stub-copy.ts";
import { cloneDatabase, type TestDatabase } from "./support/test-database.ts";
import { submitUnpublished, type UnpublishedResults } from "./support/unpublished-results.ts";

/** For a node that has the database to itself. */
const ALONE = {};
/** For nodes that share the database. */
const SHARED = { DATABASE_URL: "postgres://shared", HEADGATE_COMMANDS_PER_CLUSTER: "6" };
const seaweedFs = useSeaweedFs();
const PATIENCE = { timeout: 45_000 };
let base: string;
let database: TestDatabase;
let db: Database;
let account: { accountId: number; token: string };
const nodes: NodeProcess[] = [];
/** The current process of the node `node`. The tests share it, because a start takes longer than most of them. */
let running: { readonly node: NodeProcess; readonly settings: Record<string, string> } | undefined;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "headgate-faults-"));
  chmodSync(base, 0o711);
  database = await cloneDatabase();
  db = openDatabase({ ...database.connection, max: 2 });
  account = await newAccount("faults");
});

afterAll(async () => {
  for (const node of nodes) await node.crash();
  await endRunners();
  await db.close();
  await database.drop();
  rmSync(base, { recursive: true, force: true, maxRetries: 20 });
});

/** Finds the runners of this file by the folder in their command line. */
async function endRunners(): Promise<void> {
  for (const { pid } of await runners()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it has just ended by itself
    }
  }
  await vi.waitFor(async () => expect(await runners()).toEqual([]), PATIENCE); // a hook cannot use `expect.poll`
}

async function runners() {
  return (await listProcesses()).filter(
    ({ commandLine }) => commandLine.includes("runner.mjs") && commandLine.includes(base),
  );
}

/** Never 0, which would mean our own group. */
async function onlyRunner(): Promise<number> {
  const [runner, ...others] = await runners();
  if (runner === undefined || others.length > 0) throw new Error("there is not exactly one runner");
  return runner.pid;
}

function newAccount(name: string): Promise<{ accountId: number; token: string }> {
  return db.asSystem((tx) =>
    createAccountWithAdmin(tx, {
      account: { name, parentId: null, plan: "free" },
      admin: { email: `${name}@example.test`, name: "Founder", isOperator: false },
      features: [],
      addDefaults: addDefaultCluster,
    }),
  );
}

async function start(name: string, settings: Record<string, string> = {}): Promise<NodeProcess> {
  const dataDir = join(base, name);
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const started = await startNode(dataDir, database.connection, {
    HEADGATE_KEY_FILE: keyFile(),
    TEST_STUB_COPIES: "1",
    ...settings,
  });
  nodes.push(started);
  return started;
}

/** Ends a server that was started with other settings. */
async function server(settings: Record<string, string> = ALONE): Promise<NodeProcess> {
  if (running?.settings !== settings) await end("crash");
  running ??= { node: await start("node", settings), settings };
  return running.node;
}

async function end(how: "crash" | "stop"): Promise<void> {
  await running?.node[how]();
  running = undefined;
}

function keyFile(): string {
  const path = join(base, "keys");
  try {
    readFileSync(path);
  } catch {
    writeKeys(path, [newKey([])]);
  }
  return path;
}

const client = (through: NodeProcess): Client => new Client(through.url, account.token);

interface StoredCommand {
  status: string;
  attempt: number;
  pid: number | null;
}

async function stored(id: number): Promise<StoredCommand | undefined> {
  const [row] = await db.system.query<StoredCommand>("select status, attempt, pid from command where id = $1", [id]);
  return row;
}

const storage = (node: string): string => join(base, node, "accounts", String(account.accountId), "storage");

const files = (id: number, attempt = 1) => commandFiles(join(base, "node"), account.accountId, id).attempt(attempt);

describe("when the server is killed", () => {
  const held = new AsyncDisposableStack();
  /** Each one waits until its gate is opened. */
  const ids = { endedRun: 0, longRun: 0, endedCopy: 0, longCopy: 0 };
  type Waiting = keyof typeof ids;
  const gate = (name: Waiting): string => join(storage("node"), `${name}-gate`);
  const open = (name: Waiting): void => writeFileSync(gate(name), "");
  const report = printReport(
    { copied: ["s3://in/a", "file:/out/a", 7] },
    { progress: { percent: 100, files: 1, totalFiles: 1, bytes: 7 } },
    copyEnd({ files: 1, bytes: 7 }),
  );
  let unpublished: UnpublishedResults;
  let publishing: { token: string };

  /** One program and one copy end before the next server starts; the others end after it. */
  beforeAll(async () => {
    const first = await server();
    publishing = await newAccount("Publishing");
    unpublished = await submitUnpublished(new Client(first.url, publishing.token), seaweedFs, held);
    for (const name of ["endedRun", "longRun", "endedCopy", "longCopy"] as const) {
      const wait = `while [ ! -e ${gate(name)} ]; do sleep 0.05; done`;
      ids[name] = name.endsWith("Copy")
        ? await submitCopy(client(first), `${wait}; ${report}`)
        : await submitProgram(client(first), `echo ${name} >> $JOURNAL; echo begin; ${wait}; echo end`);
      await waitUntilRunning(ids[name]);
    }
    await end("crash");
    open("endedRun");
    open("endedCopy");
    await openRunnerClient(files(ids.endedCopy).folder).waitForEnd(AbortSignal.timeout(PATIENCE.timeout));
    expect(existsSync(join(files(ids.endedCopy).folder, "result-0.index"))).toBe(false);
    const { folder } = files(ids.endedRun);
    const runner = async () => (await runners()).filter(({ commandLine }) => commandLine.includes(folder));
    await vi.waitFor(async () => expect(await runner()).toEqual([]), PATIENCE);
    await unpublished.restoreStore();
    await server();
  });
  afterAll(async () => {
    await held.disposeAsync();
    await vi.waitFor(async () => expect(await runners()).toEqual([]), PATIENCE); // the tests below count runners
  });

  test("a run continues, and the next server finds its result", async () => {
    const ended = await client(await server()).get(`/commands/${ids.endedRun}?wait_seconds=45`);
    expect(ended).toMatchObject({ status: "done", progress: 100 });
    expect(readFileSync(files(ids.endedRun).output, "utf8")).toBe("begin\nend\n");
  });

  test("a run that outlives the server is adopted while it runs, and runs once", async () => {
    const second = client(await server());
    expect(await second.get(`/commands/${ids.longRun}`)).toMatchObject({ status: "running" });
    open("longRun");
    expect(await second.get(`/commands/${ids.longRun}?wait_seconds=45`)).toMatchObject({ status: "done" });
    expect(readFileSync(files(ids.longRun).output, "utf8")).toBe("begin\nend\n");
    expect(readJournal("node").toSorted()).toEqual(["endedRun", "longRun"]);
  });

  test("a copy continues while its server is killed and started again", async () => {
    await waitUntilRunning(ids.longCopy);
    open("longCopy");
    await expectCopied(ids.longCopy);
  });

  test("the result of a copy that ended while no server ran is stored by the next server", () =>
    expectCopied(ids.endedCopy));

  test("results and logs that were not published are published by the next server", async () => {
    const { id, textOf } = unpublished;
    const again = new Client((await server()).url, publishing.token);
    await expect.poll(() => again.get(`/commands/${id}`), PATIENCE).not.toHaveProperty("publish_error");
    expect([await textOf("results"), await textOf("logs")]).toEqual(["out\n", "err\n"]);
  });
});

async function waitUntilRunning(id: number): Promise<void> {
  const running = { status: "running", pid: expect.any(Number) as number };
  const through = client(await server());
  await vi.waitFor(async () => expect(await through.get(`/commands/${id}`)).toMatchObject(running), PATIENCE);
}

async function expectCopied(id: number): Promise<void> {
  const through = client(await server());
  expect(await through.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
  const { text } = await through.get(`/commands/${id}/results?format=json`).reply();
  expect(JSON.parse(text)).toEqual([{ source: "s3://in/a", destination: "file:/out/a", bytes: 7 }]);
  expect(await db.system.query("select from command_attempt where command_id = $1", [id])).toHaveLength(1);
}

describe("without a crash of the server", () => {
  afterEach(endRunners);

  test("SIGTERM leaves runs alone, and the next server may cancel them", async () => {
    const first = await server();
    const id = await submitProgram(client(first), "sleep 300");
    await expect.poll(() => stored(id), PATIENCE).toMatchObject({ pid: expect.any(Number) });
    await end("stop");
    expect(await runners()).toHaveLength(1);
    const second = await server(SHARED);
    await client(second).put(`/commands/${id}`);
    expect(await client(second).get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "cancelled" });
    await expect.poll(runners, PATIENCE).toEqual([]); // it ends after its final status
  });

  test("a run whose runner is killed ends as an error, and its driver is gone too", async () => {
    const only = await server(SHARED);
    const id = await submitProgram(client(only), "sleep 301.5");
    await expect.poll(() => stored(id), PATIENCE).toMatchObject({ pid: expect.any(Number) });
    const drivers = async () => (await listProcesses()).filter(({ commandLine }) => commandLine === "sleep 301.5");
    await expect.poll(drivers, PATIENCE).toHaveLength(1);
    process.kill(await onlyRunner(), "SIGKILL");
    expect(await client(only).get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "error" });
    expect(readFileSync(files(id).log, "utf8")).toMatch(/its runner was ended from outside/);
    expect(await drivers()).toEqual([]);
  });

  test("with retry a lost run is followed by another attempt", async () => {
    const only = await server(SHARED);
    const id = await submitProgram(client(only), '[ "$ATTEMPT" = 2 ] || sleep 300', { retry: 1 });
    await expect.poll(() => stored(id), PATIENCE).toMatchObject({ pid: expect.any(Number) });
    process.kill(await onlyRunner(), "SIGKILL");
    expect(await client(only).get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
    expect(await stored(id)).toMatchObject({ attempt: 2 });
  });

  test("two nodes on one database run each command once", async () => {
    rmSync(join(storage("node"), "journal"), { force: true }); // written by earlier tests
    const pair = [await server(SHARED), await start("two", SHARED)];
    const program = "echo $COMMAND >> $JOURNAL; sleep 0.1";
    const through = (index: number): NodeProcess => pair[index % 2] ?? fail();
    const ids = await Promise.all(
      Array.from({ length: 24 }, (_, index) => submitProgram(client(through(index)), program)),
    );
    const undone = () => db.system.query("select id from command where id = any ($1) and status <> 'done'", [ids]);
    await expect.poll(undone, PATIENCE).toEqual([]);
    const journal = ["node", "two"].flatMap((name) => readJournal(name));
    expect(journal.map(Number).toSorted((one, other) => one - other)).toEqual(
      ids.toSorted((one, other) => one - other),
    );
  });
});

function readJournal(name: string): string[] {
  try {
    return readFileSync(join(storage(name), "journal"), "utf8")
      .trim()
      .split("\n");
  } catch {
    return []; // the node ran none
  }
}

function fail(): never {
  throw new Error("no such node");
}
