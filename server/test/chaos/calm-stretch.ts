import { setTimeout as delay } from "node:timers/promises";
import type { ChaosClient } from "./chaos-client.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import type { Outcome, Submitted } from "./judge.ts";

/** Enough for shares that differ by chance to stay close to each other. */
const COMMANDS = 60;
const PATIENCE_MS = 60_000;

/** Submits many equal programs before the first fault, so that the shares of the nodes can be compared. */
export async function submitInCalm(world: ChaosWorld, client: ChaosClient): Promise<Submitted[]> {
  const { db, nodes } = world;
  // Each node has seen the others.
  await until(async () => (await db.system.query("select from node where beat >= 3")).length === nodes.length);
  const submitted = await Promise.all(Array.from({ length: COMMANDS }, (_, n) => client.submitShort(`calm-${n}`)));
  await until(async () => (await db.system.query("select from command where end_time is null")).length === 0);
  return submitted;
}

/** How many attempts of these commands each node ran. */
export function sharesOf(
  commands: readonly Submitted[],
  outcomes: readonly Outcome[],
  { nodes }: Pick<ChaosWorld, "nodes">,
): number[] {
  const ids = new Set(commands.map(({ id }) => id));
  const attempts = outcomes.filter(({ id }) => ids.has(id)).flatMap((outcome) => outcome.attempts);
  return nodes.map((_, index) => attempts.filter(({ node }) => node === index).length);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error("the calm stretch before the faults takes too long");
    await delay(100);
  }
}
