import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { queuedCommands } from "../../../test/support/queued-commands.ts";
import { silenceClock } from "../../../test/support/silence-clock.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { noNodeReason } from "./waiting-reason.ts";
import { groupNodes, type WatchedNode } from "./heartbeats.ts";

/** A short lease, so that the node reads the states of the nodes four times a second. */
const silence = silenceClock();
const given = useServer({
  driver: stubDriver,
  silenceClock: silence.now,
  settings: { HEADGATE_LEASE_SECONDS: "5" },
});
const PATIENCE = { timeout: 45_000, interval: 50 };
const { submit, cancelAll } = queuedCommands(given);

type State = "active" | "paused" | "draining" | "drained";
type Life = "live" | "silent";

const SILENT_SINCE = "2026-01-02T03:04:05Z";

beforeAll(async () => {
  const known = (): Promise<object[]> => given.app.services.db.system.query("select from node");
  await vi.waitFor(async () => expect(await known()).toHaveLength(1), PATIENCE);
});

afterEach(async () => {
  silence.passes = false;
  await setNodes("active", []);
  await cancelAll();
});

/** Sets the state of the node that gets the requests, and adds the other nodes of the installation. */
async function setNodes(own: State, others: readonly State[]): Promise<void> {
  const { system } = given.app.services.db;
  await system.query("delete from node where host = 'other'");
  await system.query("update node set state = $1", [own]);
  for (const state of others) {
    await system.query(
      `insert into node (id, host, boot_id, state, memory_budget_mib, version, heartbeat_at)
       values (gen_random_uuid(), 'other', 'boot', $1, 1000, '1', $2)`,
      [state, SILENT_SINCE],
    );
  }
}

/** Until the node has read the rows, it still takes commands; the loop then submits the next one. */
async function expectReason(reason: string): Promise<void> {
  const account = await given.account();
  await expect
    .poll(async () => {
      const id = await submit(account, "true");
      return (await account.get(`/commands/${id}`)).waiting_reason;
    }, PATIENCE)
    .toBe(reason);
}

function watched(state: State, life: Life): WatchedNode {
  const isSilent = life === "silent";
  const heartbeatAt = new Date(SILENT_SINCE);
  return { id: "", state, memoryBudgetMiB: 1000, beat: 1, heartbeatAt, silentMs: isSilent ? 30_000 : 0, isSilent };
}

const THE_NODE_IS_PAUSED = "the node is paused by its operator";
const NONE = "no node takes commands:";
const SILENT = `1 silent since ${SILENT_SINCE}`;
const ELSEWHERE = "it waits for another node: this one is";

test.each<[own: State, others: [State, Life][], reason: string]>([
  ["paused", [], THE_NODE_IS_PAUSED],
  ["draining", [], "the node is being drained by its operator"],
  ["drained", [], "the node was drained by its operator"],
  ["paused", [["active", "silent"]], `${NONE} 1 paused by the operator, ${SILENT}`],
  ["paused", [["paused", "silent"]], `${NONE} 1 paused by the operator, ${SILENT}`],
  ["paused", [["drained", "silent"]], THE_NODE_IS_PAUSED],
  ["drained", [["active", "silent"]], `${NONE} 1 drained by the operator, ${SILENT}`],
  ["paused", [["paused", "live"]], `${NONE} 2 paused by the operator`],
  ["paused", [["draining", "live"]], `${NONE} 1 being drained by the operator, 1 paused by the operator`],
  ["paused", [["drained", "live"]], `${NONE} 1 drained by the operator, 1 paused by the operator`],
  [
    "paused",
    [
      ["active", "silent"],
      ["draining", "silent"],
      ["draining", "live"],
    ],
    `${NONE} 1 being drained by the operator, 1 paused by the operator, 2 silent, the last of them since ${SILENT_SINCE}`,
  ],
])("with a node that is %s and others %j, no node takes commands because %s", (own, others, reason) => {
  const nodes = [watched(own, "live"), ...others.map(([state, life]) => watched(state, life))];
  expect(noNodeReason(groupNodes(nodes))).toBe(reason);
});

test.each<[own: State, others: [State, Life][]]>([
  ["paused", [["active", "live"]]],
  [
    "drained",
    [
      ["active", "live"],
      ["active", "silent"],
      ["paused", "live"],
    ],
  ],
])("with a node that is %s and others %j, a node takes commands", (own, others) => {
  const nodes = [watched(own, "live"), ...others.map(([state, life]) => watched(state, life))];
  expect(noNodeReason(groupNodes(nodes))).toBeNull();
});

test("a command waits because no node takes it, with a silent node only after that was observed", async () => {
  await setNodes("paused", ["active"]);
  await expectReason(`${ELSEWHERE} paused by the operator`);
  silence.passes = true;
  await expectReason(`${NONE} 1 paused by the operator, ${SILENT}`);
  await setNodes("drained", []);
  await expectReason("the node was drained by its operator");
});

test("a node that takes commands gives its own reasons, whatever the states of the others", async () => {
  await setNodes("active", ["paused"]);
  silence.passes = true;
  const account = await given.account();
  const id = await submit(account, "true");
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
});
