import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";
import type { Queryable } from "../src/db/database.ts";
import { copyEnd, printReport, submitCopy } from "./support/stub-copy.ts";
import { useNodes } from "./support/use-nodes.ts";

/** Later attempts of a copy run only on the node that has its journal. */
const PATIENCE = { timeout: 45_000 };
const nodes = useNodes(["one", "two"], (folder) => ({
  TEST_STUB_COPIES: "1",
  TEST_SILENCE: join(folder, "silence"), // time passes for the silence of nodes while this file exists
  HEADGATE_LEASE_SECONDS: "5",
}));
const { at, idOf } = nodes;
const db = (): Queryable => nodes.db.system;

beforeAll(() => nodes.onlyOn("one"));
afterEach(() => nodes.onlyOn("one"));

/** The first attempt leaves a mark in the journal's folder and fails; the next one succeeds only where the mark is. */
const CONTINUES = `
  journal=$(sed -n 's/.*"journalFolder":"\\([^"]*\\)".*/\\1/p' "$REQUEST")
  if [ -e "$journal/mark" ]; then ${printReport(copyEnd())}; else touch "$journal/mark"; exit 1; fi`;

/** Copies whose first attempt has failed on the first node, and whose next one is not due yet. */
async function submitted(count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let each = 0; each < count; each += 1)
    ids.push(await submitCopy(at("two"), CONTINUES, { retry: 1, retry_delay: 5 }));
  const failed =
    "select id from command where id = any ($1) and attempt = 1 and status = 'running' and node_id is null";
  await expect.poll(() => db().query(failed, [ids]), PATIENCE).toHaveLength(count);
  return ids;
}

async function makeDue(ids: readonly number[]): Promise<void> {
  await db().query("update command set due_at = now() where id = any ($1)", [ids]);
}

const setState = async (name: "one" | "two", state: string): Promise<void> => {
  await db().query("update node set state = $2 where id = $1", [idOf(name), state]);
};

async function statuses(ids: readonly number[]): Promise<string[]> {
  const ended = await Promise.all(ids.map((id) => at("two").get(`/commands/${id}?wait_seconds=45`)));
  return ended.map(({ status }) => status);
}

test("copies wait for the node that has their journal, say so, and hold up no others on an idle node", async () => {
  const ids = await submitted(4);
  await nodes.onlyOn("two");
  await makeDue(ids);
  const has = `its next attempt has to run on node ${idOf("one")}, which has the journal of the copy`;
  for (const name of ["one", "two"] as const) {
    await expect
      .poll(async () => (await at(name).get(`/commands/${ids[0]}`)).waiting_reason, PATIENCE)
      .toBe(`${has} and is paused`);
  }
  const other = await submitCopy(at("two"), printReport(copyEnd()));
  expect(await statuses([other])).toEqual(["done"]);
  await setState("one", "active");
  expect(await statuses(ids)).toEqual(ids.map(() => "done"));
  const attempts = await db().query("select number, node_id from command_attempt where command_id = any ($1)", [ids]);
  expect(attempts).toHaveLength(8);
  for (const attempt of attempts) expect(attempt).toMatchObject({ node_id: idOf("one") });
});

test("a node is drained after the last attempt of its copies", async () => {
  const ids = await submitted(1);
  await setState("two", "active");
  await setState("one", "draining");
  const state = (): Promise<object[]> => db().query("select state from node where id = $1", [idOf("one")]);
  await makeDue(ids);
  expect(await statuses(ids)).toEqual(["done"]);
  await expect.poll(state, PATIENCE).toEqual([{ state: "drained" }]);
});

test("a copy ends as error if the node that has its journal was drained nevertheless", async () => {
  const ids = await submitted(1);
  await setState("two", "active");
  await setState("one", "drained"); // as by an earlier version, which does not know of waiting copies
  expect(await statuses(ids)).toEqual(["error"]);
  const { attempts } = await at("two").get(`/commands/${ids[0]}/attempts`);
  const cause = `it cannot continue: node ${idOf("one")}, which has the journal of the copy, was drained.`;
  expect(attempts).toMatchObject([{ number: 1 }, { number: 2, cause: expect.stringContaining(cause) }]);
});

test("a copy ends as error, and says what to do, once the node that has its journal is silent", async () => {
  const ids = await submitted(1);
  await setState("two", "active");
  await nodes.process("one").crash();
  const silence = join(nodes.folder, "silence");
  writeFileSync(silence, ""); // long before it is due
  try {
    expect(await statuses(ids)).toEqual(["error"]);
  } finally {
    rmSync(silence);
    await nodes.start("one");
  }
  const { attempts } = await at("two").get(`/commands/${ids[0]}/attempts`);
  expect(attempts).toMatchObject([
    { number: 1, cause: expect.stringContaining("exit code 1") },
    {
      number: 2,
      cause:
        `it cannot continue: node ${idOf("one")}, which has the journal of the copy, has fallen silent. Submit the ` +
        "command again with another destination, or remove what it has copied and submit it again",
    },
  ]);
});
