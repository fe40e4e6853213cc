import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { ChaosClient } from "./chaos-client.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import { parseJournal } from "./journal.ts";
import type { Submitted } from "./judge.ts";

/** So long that the first attempt, were it not ended, would go on far into the second: in tenths of a second. */
const LONG_TICKS = 400;
/** Ticks of the second attempt until the way is healed: whatever else ran would have ticked as well. */
const TICKS_BESIDE = 5;
const PATIENCE_MS = 40_000;

/**
 * What chance arranges only now and then: the second node is cut off while a program runs there that ends neither before
 * its lease does nor before the others start it again. If anything goes on that should not, the judge sees it in the
 * journal, every time. Fails when it could not be arranged.
 */
export async function cutOffDuringRun(world: ChaosWorld, client: ChaosClient): Promise<Submitted> {
  await setState(world, 0, "paused");
  const long = await client.submitLong("cut-off", LONG_TICKS);
  const count = (attempt: number, word: string): number =>
    parseJournal(readFileSync(world.journal, "utf8")).filter(
      (line) => line.command === long.id && line.attempt === attempt && line.word === word,
    ).length;
  await until("its first attempt has begun on the second node", () => count(1, "start") > 0);
  await setState(world, 0, "active");
  const end = world.outages.begin([1]);
  world.proxy.cut();
  await until("its second attempt has begun on the first node", () => count(2, "tick") >= TICKS_BESIDE);
  world.proxy.heal("arrives");
  end();
  return long;
}

async function setState({ db, nodes }: ChaosWorld, index: number, state: "paused" | "active"): Promise<void> {
  const nodeId = nodes[index]?.id;
  const text = "update node set state = $2 where id = $1 returning id";
  // A node that has just started may not have said so yet.
  while ((await db.system.query(text, [nodeId, state])).length === 0) await delay(50);
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`);
    await delay(50);
  }
}
