import { beforeAll, expect, test, vi } from "vitest";
import type { Client } from "./support/client.ts";
import { areEven } from "./support/even-shares.ts";
import { submitProgram } from "./support/programs.ts";
import { useNodes } from "./support/use-nodes.ts";

/** Three equal nodes on one database; all commands come through the first. */
const NAMES = ["first", "second", "third"] as const;
const PATIENCE = { timeout: 60_000 };
const COMMANDS = 60;
const CAP = 6;

const nodes = useNodes(NAMES, () => ({
  HEADGATE_LEASE_SECONDS: "20",
  HEADGATE_COMMANDS_PER_CLUSTER: String(CAP),
  HEADGATE_MEMORY_BUDGET: "4g",
}));
const client = (): Client => nodes.at("first");

beforeAll(async () => {
  // By then each node has seen the others.
  const beats = (): Promise<object[]> => nodes.db.system.query("select from node where beat >= 3");
  await vi.waitFor(async () => expect(await beats()).toHaveLength(NAMES.length), PATIENCE);
});

/** The number of matching commands of each node, in descending order. */
async function counts(condition: string): Promise<number[]> {
  const rows = await nodes.db.system.query<{ count: number }>(
    `select count(a.node_id) from node left join (
       select command_attempt.node_id from command_attempt join command on command.id = command_id where ${condition}
     ) a on a.node_id = node.id group by node.id order by 1 desc`,
  );
  return rows.map(({ count }) => count);
}

const unfinished = (): Promise<object[]> => nodes.db.system.query("select from command where end_time is null");

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
    nodes.db.system.query(`select id, node_id as "nodeId" from command where id = any ($1) and pid is not null`, [
      held,
    ]);
  await expect.poll(running, PATIENCE).toHaveLength(CAP);
  const [most = 0] = await counts("end_time is null");
  expect(most).toBeLessThanOrEqual(CAP / 2);

  const ofThird = (await running()).filter(({ nodeId }) => nodeId === nodes.idOf("third")).map(({ id }) => id);
  nodes.process("third").signal("SIGSTOP");
  for (const id of held.filter((each) => !ofThird.includes(each))) await client().put(`/commands/${id}`);
  const next = await Promise.all(Array.from({ length: CAP - ofThird.length }, () => submitProgram(client(), "true")));
  for (const id of next) expect((await client().get(`/commands/${id}?wait_seconds=45`)).status).toBe("done");
  nodes.process("third").signal("SIGCONT");
  for (const id of ofThird) await client().put(`/commands/${id}`);
  await expect.poll(unfinished, PATIENCE).toEqual([]);
});

test("a command on idle nodes starts at once", async () => {
  const seconds: number[] = [];
  for (const name of NAMES) {
    const id = await submitProgram(nodes.at(name), "true");
    await client().get(`/commands/${id}?wait_seconds=45`);
    const [row] = await nodes.db.system.query<{ seconds: number }>(
      "select extract(epoch from start_time - created_at)::float8 as seconds from command where id = $1",
      [id],
    );
    seconds.push(row?.seconds ?? Infinity);
  }
  expect(Math.max(...seconds)).toBeLessThan(0.9);
});
