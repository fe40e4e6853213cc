import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createAccountWithAdmin } from "../src/accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../src/clusters/default-cluster.ts";
import { openDatabase, type Database } from "../src/db/database.ts";
import { newKey, writeKeys } from "../src/lib/key-ring.ts";
import { Client } from "./support/client.ts";
import { areEven } from "./support/even-shares.ts";
import { startNode, type NodeProcess } from "./support/node-process.ts";
import { submitProgram } from "./support/programs.ts";
import { cloneDatabase, type TestDatabase } from "./support/test-database.ts";

/** Three equal nodes on one database; all commands come through the first. */
const NAMES = ["first", "second", "third"] as const;
const PATIENCE = { timeout: 60_000 };
const COMMANDS = 60;
const CAP = 6;

let base: string;
let database: TestDatabase;
let db: Database;
let token: string;
let nodes: NodeProcess[];

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "headgate-even-"));
  chmodSync(base, 0o711);
  writeKeys(join(base, "keys"), [newKey([])]);
  database = await cloneDatabase();
  db = openDatabase({ ...database.connection, max: 2 });
  ({ token } = await db.asSystem((tx) =>
    createAccountWithAdmin(tx, {
      account: { name: "Even", parentId: null, plan: "free" },
      admin: { email: "even@example.test", name: "Founder", isOperator: false },
      features: [],
      addDefaults: addDefaultCluster,
    }),
  ));
  nodes = await Promise.all(NAMES.map(start));
  await vi.waitFor(async () => expect(await db.system.query("select from node")).toHaveLength(3), PATIENCE);
  // By then each node has seen the others.
  const beats = (): Promise<object[]> => db.system.query("select from node where beat >= 3");
  await vi.waitFor(async () => expect(await beats()).toHaveLength(3), PATIENCE);
});

afterAll(async () => {
  await Promise.all(nodes.map((node) => node.crash()));
  await db.close();
  await database.drop();
  rmSync(base, { recursive: true, force: true, maxRetries: 20 });
});

function start(name: string): Promise<NodeProcess> {
  const dataDir = join(base, name);
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  return startNode(dataDir, database.connection, {
    HEADGATE_KEY_FILE: join(base, "keys"),
    DATABASE_URL: "postgres://shared",
    HEADGATE_LEASE_SECONDS: "20",
    HEADGATE_COMMANDS_PER_CLUSTER: String(CAP),
    HEADGATE_MEMORY_BUDGET: "4g",
  });
}

const idOf = (name: string): string => readFileSync(join(base, name, "node-id"), "utf8").trim();

const client = (): Client => new Client(nodes[0]?.url ?? "", token);

/** The number of matching commands of each node, in descending order. */
async function counts(condition: string): Promise<number[]> {
  const rows = await db.system.query<{ count: number }>(
    `select count(a.node_id) from node left join (
       select command_attempt.node_id from command_attempt join command on command.id = command_id where ${condition}
     ) a on a.node_id = node.id group by node.id order by 1 desc`,
  );
  return rows.map(({ count }) => count);
}

const unfinished = (): Promise<object[]> => db.system.query("select from command where end_time is null");

test("equal nodes run about the same number of commands", async () => {
  const submitted = Array.from({ length: COMMANDS }, () => submitProgram(client(), "sleep 0.2"));
  await Promise.all(submitted);
  await expect.poll(unfinished, PATIENCE).toEqual([]);
  const [most = 0, middle = 0, least = 0] = await counts("true");
  process.stdout.write(`attempts by node: ${most}/${middle}/${least}\n`);
  expect(areEven([most, middle, least])).toBe(true);
});

test("no node uses the whole cap of a cluster, so that the others can continue when it becomes silent", async () => {
  const held = await Promise.all(Array.from({ length: CAP }, () => submitProgram(client(), "sleep 60")));
  const running = (): Promise<{ id: number; nodeId: string }[]> =>
    db.system.query(`select id, node_id as "nodeId" from command where id = any ($1) and pid is not null`, [held]);
  await expect.poll(running, PATIENCE).toHaveLength(CAP);
  const [most = 0] = await counts("end_time is null");
  expect(most).toBeLessThanOrEqual(CAP / 2);

  const ofThird = (await running()).filter(({ nodeId }) => nodeId === idOf("third")).map(({ id }) => id);
  nodes[2]?.signal("SIGSTOP");
  for (const id of held.filter((each) => !ofThird.includes(each))) await client().put(`/commands/${id}`);
  const next = await Promise.all(Array.from({ length: CAP - ofThird.length }, () => submitProgram(client(), "true")));
  for (const id of next) expect((await client().get(`/commands/${id}?wait_seconds=45`)).status).toBe("done");
  nodes[2]?.signal("SIGCONT");
  for (const id of ofThird) await client().put(`/commands/${id}`);
  await expect.poll(unfinished, PATIENCE).toEqual([]);
});

test("a command on idle nodes starts at once", async () => {
  const seconds: number[] = [];
  for (const node of nodes) {
    const id = await submitProgram(new Client(node.url, token), "true");
    await client().get(`/commands/${id}?wait_seconds=45`);
    const [row] = await db.system.query<{ seconds: number }>(
      "select extract(epoch from start_time - created_at)::float8 as seconds from command where id = $1",
      [id],
    );
    seconds.push(row?.seconds ?? Infinity);
  }
  expect(Math.max(...seconds)).toBeLessThan(0.9);
});
