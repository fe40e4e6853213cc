import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { createAccountWithAdmin } from "../src/accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../src/clusters/default-cluster.ts";
import { commandFiles } from "../src/commands/execution/command-files.ts";
import { openDatabase, type Database } from "../src/db/database.ts";
import { newKey, writeKeys } from "../src/lib/key-ring.ts";
import { listProcesses } from "../src/lib/process-table.ts";
import { Client } from "./support/client.ts";
import { startNode, type NodeProcess } from "./support/node-process.ts";
import { submitProgram } from "./support/programs.ts";
import { cloneDatabase, type TestDatabase } from "./support/test-database.ts";

/** Real nodes, runners and drivers are killed during runs. */
const PATIENCE = { timeout: 45_000 };
let base: string;
let database: TestDatabase;
let db: Database;
let account: { accountId: number; token: string };
const nodes: NodeProcess[] = [];
/** The last of the node `node`, while it runs: the tests share it, as a start takes longer than most of them. */
let running: NodeProcess | undefined;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "headgate-faults-"));
  chmodSync(base, 0o711);
  database = await cloneDatabase();
  db = openDatabase({ ...database.connection, max: 2 });
  account = await newAccount();
});

afterEach(endRunners);

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

function newAccount(): Promise<{ accountId: number; token: string }> {
  return db.asSystem((tx) =>
    createAccountWithAdmin(tx, {
      account: { name: "Faults", parentId: null, plan: "free" },
      admin: { email: "faults@example.test", name: "Founder", isOperator: false },
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
    ...settings,
  });
  nodes.push(started);
  return started;
}

async function server(): Promise<NodeProcess> {
  running ??= await start("node");
  return running;
}

async function end(how: "crash" | "stop"): Promise<void> {
  await running?.[how]();
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

const files = (id: number, attempt = 1) => commandFiles(join(base, "node"), account.accountId, id).attempt(attempt);

test("a run continues when the server is killed, and the next server finds its result", async () => {
  const first = await server();
  const gate = join(base, "node/accounts", String(account.accountId), "storage/gate");
  const id = await submitProgram(client(first), `echo begin; while [ ! -e ${gate} ]; do sleep 0.1; done; echo end`);
  await expect.poll(() => stored(id), PATIENCE).toMatchObject({ status: "running", pid: expect.any(Number) });
  await end("crash");
  writeFileSync(gate, "");
  await expect.poll(runners, PATIENCE).toEqual([]);
  const second = await server();
  const ended = await client(second).get(`/commands/${id}?wait_seconds=45`);
  expect(ended).toMatchObject({ status: "done", progress: 100 });
  expect(readFileSync(files(id).output, "utf8")).toBe("begin\nend\n");
});

test("a run that outlives its server is adopted while it runs, and runs once", async () => {
  const first = await server();
  const storage = join(base, "node/accounts", String(account.accountId), "storage");
  const id = await submitProgram(
    client(first),
    `echo start >> $JOURNAL; while [ ! -e ${storage}/second-gate ]; do sleep 0.1; done; echo x`,
  );
  await expect.poll(() => stored(id), PATIENCE).toMatchObject({ pid: expect.any(Number) });
  await end("crash");
  const second = await server();
  expect(await client(second).get(`/commands/${id}`)).toMatchObject({ status: "running" });
  writeFileSync(join(storage, "second-gate"), "");
  expect(await client(second).get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
  expect(readFileSync(join(storage, "journal"), "utf8")).toBe("start\n");
});

test("SIGTERM leaves runs alone, and the next server may cancel them", async () => {
  const first = await server();
  const id = await submitProgram(client(first), "sleep 300");
  await expect.poll(() => stored(id), PATIENCE).toMatchObject({ pid: expect.any(Number) });
  await end("stop");
  expect(await runners()).toHaveLength(1);
  const second = await server();
  await client(second).put(`/commands/${id}`);
  expect(await client(second).get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "cancelled" });
  await expect.poll(runners, PATIENCE).toEqual([]); // it ends after its final status
});

test("a run whose runner is killed ends as an error, and its driver is gone too", async () => {
  const only = await server();
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
  const only = await server();
  const id = await submitProgram(client(only), '[ "$ATTEMPT" = 2 ] || sleep 300', { retry: 1 });
  await expect.poll(() => stored(id), PATIENCE).toMatchObject({ pid: expect.any(Number) });
  process.kill(await onlyRunner(), "SIGKILL");
  expect(await client(only).get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
  expect(await stored(id)).toMatchObject({ attempt: 2 });
});

test("two nodes on one database run each command once", async () => {
  const shared = { DATABASE_URL: "postgres://shared", HEADGATE_COMMANDS_PER_CLUSTER: "6" };
  await end("crash");
  const pair = await Promise.all([start("one", shared), start("two", shared)]);
  const program = "echo $COMMAND >> $JOURNAL; sleep 0.1";
  const through = (index: number): NodeProcess => pair[index % 2] ?? fail();
  const ids = await Promise.all(
    Array.from({ length: 24 }, (_, index) => submitProgram(client(through(index)), program)),
  );
  const undone = () => db.system.query("select id from command where id = any ($1) and status <> 'done'", [ids]);
  await expect.poll(undone, PATIENCE).toEqual([]);
  const journal = ["one", "two"].flatMap((name) => readJournal(name));
  expect(journal.map(Number).toSorted((one, other) => one - other)).toEqual(ids.toSorted((one, other) => one - other));
});

function readJournal(name: string): string[] {
  try {
    const path = join(base, name, "accounts", String(account.accountId), "storage/journal");
    return readFileSync(path, "utf8").trim().split("\n");
  } catch {
    return []; // the node ran none
  }
}

function fail(): never {
  throw new Error("no such node");
}
