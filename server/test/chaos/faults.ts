import { setTimeout as delay } from "node:timers/promises";
import { Client, type ClientConfig } from "pg";
import { askWhileCutOff } from "./ask-while-cut-off.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import { CLOCK_STEP_SECONDS } from "./clock-step.ts";
import { NODE_STEP_SECONDS, SETTLED_SECONDS, shownAheadSeconds } from "./node-clock.ts";
import { keyOf, kill, type LiveRun, type RunOnDisk } from "./processes.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** False: there was no target for the fault. */
export type Fault = (world: ChaosWorld, random: SeededRandom) => Promise<boolean>;

/** Shorter than the margin in which a runner has to end its program after its lease. */
const STOPPED_MS = [200, 2500] as const;

/** These strike single processes, often. */
const programFaults: Readonly<Record<string, Fault>> = {
  async "kill a runner"(world, random) {
    const run = random.pick(
      (await commandRuns(world)).filter(({ state, runnerLives }) => state === "running" && runnerLives),
    );
    if (run === undefined) return false;
    noteKill(world, run);
    kill(run.runner.pid);
    return true;
  },

  async "kill a driver"(world, random) {
    const running = (await commandRuns(world)).filter(
      (each) => each.state === "running" && ownProcesses(each).length > 0,
    );
    const retried = await withRetriesLeft(world, running);
    const run = random.pick(retried.length > 0 ? retried : running);
    const process = run && random.pick(ownProcesses(run));
    if (run === undefined || process === undefined) return false;
    noteKill(world, run);
    kill(process.pid);
    return true;
  },

  "stop a runner for a while": (world, random) =>
    stopOne(world, random, ({ runner, runnerLives }) => (runnerLives ? [runner.pid] : [])),

  "stop a driver for a while": (world, random) =>
    stopOne(world, random, ({ driverProcesses }) => driverProcesses.map(({ pid }) => pid)),
};

/** Kills the runner or a process of the driver: no command may depend on a waiting driver. */
const standbyFaults: Readonly<Record<string, Fault>> = {
  async "kill a waiting driver"(world, random) {
    const waiting = (await allRuns(world)).filter(({ attempt, state }) => attempt === undefined && state === "waiting");
    const run = random.pick(waiting);
    const pid = run && random.pick([run.runner.pid, ...run.driverProcesses.map((each) => each.pid)]);
    if (run === undefined || pid === undefined) return false;
    noteKill(world, run);
    kill(pid);
    return true;
  },
};

export function processFaults({ hasStandbys }: ChaosWorld): Readonly<Record<string, Fault>> {
  return hasStandbys ? { ...programFaults, ...standbyFaults } : programFaults;
}

/** These strike nodes, their database and the Spark server that they share, one at a time. */
export const nodeFaults: Readonly<Record<string, Fault>> = {
  async "kill a server"({ nodes, outages }, random) {
    const node = random.pick(nodes);
    const end = outages.begin(indexesOf(nodes, node));
    await node?.crash();
    await delay(random.between(0, 1500));
    await node?.start();
    end();
    return true;
  },

  async "stop a server for a while"({ nodes, outages }, random) {
    const node = random.pick(nodes);
    const end = outages.begin(indexesOf(nodes, node));
    node?.signal("SIGSTOP");
    await delay(random.between(...STOPPED_MS));
    node?.signal("SIGCONT");
    end();
    return true;
  },

  async "stop PostgreSQL immediately"({ store, db, nodes, outages }) {
    const pid = await store.postmasterPid();
    if (pid === undefined) return false;
    const end = outages.begin([...nodes.keys()]);
    kill(pid, "SIGQUIT");
    // Waits for two answers in a row: the first may still come from the old server.
    for (let answers = 0; answers < 2; await delay(100)) {
      answers = (await db.system.query("select").catch(() => undefined)) === undefined ? 0 : answers + 1;
    }
    end();
    return true;
  },

  /** As after a failover to a standby. The sessions of that time stay read-only: the nodes have to close them. */
  async "make PostgreSQL read-only for a while"({ connection, nodes, outages }, random) {
    const owner = await openOwner(connection).catch(() => undefined); // the database may be away
    if (owner === undefined) return false;
    const database = `alter database ${connection.database}`;
    const end = outages.begin([...nodes.keys()]);
    try {
      await owner.query(`${database} set default_transaction_read_only = on`);
      await owner.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and usename = current_user and pid <> pg_backend_pid()`,
      );
      await delay(random.between(500, 4000));
      await owner.query(`${database} reset default_transaction_read_only`);
    } finally {
      await owner.end();
      end();
    }
    return true;
  },

  async "reboot a machine"(world, random) {
    const node = random.pick(world.nodes);
    const end = world.outages.begin(indexesOf(world.nodes, node));
    for (const run of (await node?.loseMachine()) ?? []) noteKill(world, run);
    await delay(random.between(0, 1000));
    await node?.start();
    end();
    return true;
  },

  async "kill the Spark server"({ spark, outages }, random) {
    const end = outages.begin(["spark"]);
    await spark.kill();
    await delay(random.between(0, 1000));
    await spark.start();
    end();
    return true;
  },
};

/** These separate the second node from the database while the others continue. */
export const networkFaults: Readonly<Record<string, Fault>> = {
  "cut the second node off": (world, random) => cutOff(world, random, "open"),

  "break the connections of the second node and cut it off": (world, random) => cutOff(world, random, "new"),

  /** One-way loss: what the node sends still arrives. */
  async "lose the answers to the second node"({ proxy, silentSeconds, outages }, random) {
    const end = outages.begin([1]);
    await proxy.loseAnswers();
    await delay(random.between(1, silentSeconds + 4) * 1000);
    await proxy.heal(random.pick(["arrives", "breaks", "is lost"]) ?? "arrives");
    end();
    return true;
  },
};

/** No node is away meanwhile, so nothing excuses an attempt that fails. */
const clockSteps: Readonly<Record<string, Fault>> = {
  /** Forward and back, or back and forward. */
  async "step the clock of the database"(world, random) {
    await setClock(world, random.fraction() < 0.5 ? CLOCK_STEP_SECONDS : -CLOCK_STEP_SECONDS);
    await delay((world.silentSeconds + random.between(1, 4)) * 1000);
    await setClock(world, 0);
    return true;
  },
};

/** Both ways, each for longer than a lease. It counts if an answer of the node showed a time that was wrong. */
const nodeClockSteps: Readonly<Record<string, Fault>> = {
  async "step the clock of the third node"({ nodes, nodeClock, leaseSeconds }, random) {
    if (typeof nodeClock !== "object") return false;
    const shown: (number | undefined)[] = [];
    for (const aheadSeconds of random.shuffled([NODE_STEP_SECONDS, -NODE_STEP_SECONDS])) {
      nodeClock.set(aheadSeconds);
      await delay((SETTLED_SECONDS + leaseSeconds + random.between(1, 2)) * 1000);
      shown.push(await shownAheadSeconds(nodes[2]?.url));
    }
    nodeClock.set(0);
    return shown.some((seconds = 0) => Math.abs(seconds) > NODE_STEP_SECONDS / 2);
  },
};

export function clockFaults({ nodeClock }: ChaosWorld): Readonly<Record<string, Fault>> {
  return typeof nodeClock === "object" ? { ...clockSteps, ...nodeClockSteps } : clockSteps;
}

/** Yields all faults in a random order, then all of them again in another, without end. */
export function* deal(
  faults: Readonly<Record<string, Fault>>,
  random: SeededRandom,
): Generator<[name: string, fault: Fault]> {
  for (;;) yield* random.shuffled(Object.entries(faults));
}

async function allRuns({ nodes }: ChaosWorld): Promise<LiveRun[]> {
  return (await Promise.all(nodes.map((node) => node.runs()))).flat();
}

/** Without waiting drivers and runs that have ended. */
async function commandRuns(world: ChaosWorld): Promise<LiveRun[]> {
  return (await allRuns(world)).filter(({ attempt, state }) => attempt !== undefined && state !== "ended");
}

/** The runs that another attempt has to follow when they fail. */
async function withRetriesLeft({ db }: ChaosWorld, runs: readonly LiveRun[]): Promise<LiveRun[]> {
  const text = "select id from command where id = any ($1) and retry >= attempt";
  const rows = await db.system
    .query<{ id: number }>(text, [runs.map(({ attempt }) => attempt?.command)])
    .catch(() => []); // the database may be away
  return runs.filter(({ attempt }) => rows.some(({ id }) => id === attempt?.command));
}

/** The program's first process and those of its sandbox. The program would survive the loss of a short-lived child. */
function ownProcesses({ driver, driverProcesses }: LiveRun): LiveRun["driverProcesses"] {
  const ofSandbox = new Set(driverProcesses.filter(({ name }) => name === "bwrap").map(({ pid }) => pid));
  return driverProcesses.filter(
    ({ pid, parentPid }) => pid === driver?.pid || ofSandbox.has(pid) || ofSandbox.has(parentPid),
  );
}

/** Identifies the run by its runner: a waiting driver may get a command between the listing and the kill. */
function noteKill({ killedRunners }: ChaosWorld, { runner }: Pick<RunOnDisk, "runner">): void {
  killedRunners.add(keyOf(runner));
}

async function stopOne(
  world: ChaosWorld,
  random: SeededRandom,
  pidsOf: (run: LiveRun) => readonly number[],
): Promise<boolean> {
  const pid = random.pick((await commandRuns(world)).flatMap(pidsOf));
  if (pid === undefined) return false;
  kill(pid, "SIGSTOP");
  await delay(random.between(...STOPPED_MS));
  kill(pid, "SIGCONT");
  return true;
}

async function openOwner(connection: ClientConfig): Promise<Client> {
  const client = new Client({ ...connection, options: "-c default_transaction_read_only=off" });
  client.on("error", () => undefined); // a lost connection fails the next statement
  await client.connect();
  return client;
}

function indexesOf<T>(all: readonly T[], one: T | undefined): number[] {
  return all.flatMap((each, index) => (each === one ? [index] : []));
}

/** The node is asked while all its connections are silent, or while it has none and gets none. */
async function cutOff(world: ChaosWorld, random: SeededRandom, connections: "open" | "new"): Promise<boolean> {
  const { proxy, silentSeconds, outages } = world;
  const end = outages.begin([1]);
  await proxy.cut(connections === "open" ? "fall silent" : "break");
  await Promise.all([delay((silentSeconds + random.between(1, 6)) * 1000), askWhileCutOff(world, connections)]);
  await proxy.heal(random.pick(["arrives", "breaks", "is lost"]) ?? "arrives");
  end();
  return true;
}

async function setClock({ db }: ChaosWorld, aheadSeconds: number): Promise<void> {
  const set = (): Promise<unknown> =>
    db.system.query("update stepped.clock set ahead = make_interval(secs => $1)", [aheadSeconds]);
  while ((await set().catch(() => undefined)) === undefined) await delay(200); // the database may be away
}
