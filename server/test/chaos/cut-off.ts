import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { ChaosClient } from "./chaos-client.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import { parseJournal } from "./journal.ts";
import type { Submitted } from "./judge.ts";

/** In tenths of a second: a first attempt that is not ended would overlap the second one by far. */
const LONG_TICKS = 400;
/** The cut is healed after this many ticks of the second attempt. A first attempt that still ran would tick as well. */
const TICKS_BEFORE_HEAL = 5;
const PATIENCE_MS = 40_000;

/**
 * Arranges a case that random faults produce only now and then: the second node is cut off while it runs a program that
 * is still running when the lease ends and when another node starts it again. If the first attempt continues, the judge
 * always sees that in the journal. Fails when the case does not come about.
 */
export async function cutOffDuringRun(world: ChaosWorld, client: ChaosClient): Promise<Submitted> {
  const others = [...world.nodes.keys()].filter((index) => index !== 1);
  for (const index of others) await setState(world, index, "paused");
  const long = await client.submitLong("cut-off", LONG_TICKS);
  const count = (attempt: number, word: string): number =>
    parseJournal(readFileSync(world.journal, "utf8")).filter(
      (line) => line.command === long.id && line.attempt === attempt && line.word === word,
    ).length;
  await until("the first attempt has begun on the second node", () => count(1, "start") > 0);
  for (const index of others) await setState(world, index, "active");
  const end = world.outages.begin([1]);
  await world.proxy.cut();
  try {
    await until("the second attempt has begun on another node", () => count(2, "tick") >= TICKS_BEFORE_HEAL);
  } finally {
    await world.proxy.heal("arrives");
    end();
  }
  return long;
}

async function setState({ db, nodes }: ChaosWorld, index: number, state: "paused" | "active"): Promise<void> {
  const nodeId = nodes[index]?.id;
  const text = "update node set state = $2 where id = $1 returning id";
  // A node that has just started may not have stored its row yet.
  while ((await db.system.query(text, [nodeId, state])).length === 0) await delay(50);
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`);
    await delay(50);
  }
}
