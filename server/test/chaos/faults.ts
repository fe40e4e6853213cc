import { setTimeout as delay } from "node:timers/promises";
import { commandIn, kill } from "./chaos-node.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** False: there was nothing that it could have happened to. */
export type Fault = (world: ChaosWorld, random: SeededRandom) => Promise<boolean>;

/** Shorter than the margin in which a runner without lease has to end its program. */
const STOPPED_MS = [200, 2500] as const;

/** What happens to single processes, often. */
export const processFaults: Readonly<Record<string, Fault>> = {
  async "kill a runner"(world, random) {
    const runner = random.pick((await Promise.all(world.nodes.map((node) => node.runners()))).flat());
    if (runner === undefined) return false;
    world.hit.add(commandIn(runner.commandLine));
    kill(runner.pid);
    return true;
  },

  async "kill a driver"(world, random) {
    const driver = random.pick((await Promise.all(world.nodes.map((node) => node.drivers()))).flat());
    if (driver === undefined) return false;
    world.hit.add(commandIn(driver.commandLine));
    kill(driver.pid);
    return true;
  },

  async "stop a runner or driver for a while"(world, random) {
    const all = world.nodes.map(async (node) => [...(await node.runners()), ...(await node.drivers())]);
    const stopped = random.pick((await Promise.all(all)).flat());
    if (stopped === undefined) return false;
    kill(stopped.pid, "SIGSTOP");
    await delay(random.between(...STOPPED_MS));
    kill(stopped.pid, "SIGCONT");
    return true;
  },
};

/** What happens to nodes and their database, one after the other. */
export const nodeFaults: Readonly<Record<string, Fault>> = {
  async "kill a server"({ nodes }, random) {
    const node = random.pick(nodes);
    await node?.crash();
    await delay(random.between(0, 1500));
    await node?.start();
    return true;
  },

  async "stop a server for a while"({ nodes }, random) {
    const node = random.pick(nodes);
    node?.signal("SIGSTOP");
    await delay(random.between(...STOPPED_MS));
    node?.signal("SIGCONT");
    return true;
  },

  async "stop PostgreSQL immediately"({ store }) {
    const pid = await store.postmasterPid();
    if (pid !== undefined) kill(pid, "SIGQUIT");
    return pid !== undefined;
  },

  async "start a machine anew"(world, random) {
    const node = random.pick(world.nodes);
    for (const command of (await node?.loseMachine()) ?? []) world.hit.add(command);
    await delay(random.between(0, 1000));
    await node?.start();
    return true;
  },
};

/** What keeps the second node from all others, while they go on. */
export const networkFaults: Readonly<Record<string, Fault>> = {
  async "cut the second node off"({ proxy, silentSeconds }, random) {
    proxy.cut();
    await delay((silentSeconds + random.between(1, 6)) * 1000);
    proxy.heal(random.fraction() < 0.5 ? "arrives" : "breaks");
    return true;
  },
};

/** Deals all of them in a random order, then all of them again. */
export function* deal(
  faults: Readonly<Record<string, Fault>>,
  random: SeededRandom,
): Generator<[name: string, fault: Fault]> {
  for (;;) yield* random.shuffled(Object.entries(faults));
}
