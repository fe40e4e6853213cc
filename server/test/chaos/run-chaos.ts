/**
 * Runs many short commands on three nodes (two in the short form) with one database, while processes are killed and
 * stopped, machines reboot, PostgreSQL and Spark die, PostgreSQL becomes read-only, the second node is cut off or gets no
 * answers, and the clocks of the database and of the third node step. Meanwhile folders and notebooks are changed.
 * Before that, the nodes share many equal programs without a fault, and the second node is cut off once during a long
 * program, which another node then runs again. Programs run on stub drivers, started for them or waiting; queries run on
 * a stub of a Spark Connect server; refreshes and copies are those of the product. The programs and the stub record what
 * really ran; what copies have written is compared with what they read.
 */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { sharesOf, submitInCalm } from "./calm-stretch.ts";
import { ChaosClient, QUERY_LABEL } from "./chaos-client.ts";
import { openWorld, type ChaosWorld } from "./chaos-world.ts";
import { cutOffDuringRun } from "./cut-off.ts";
import { clockFaults, deal, networkFaults, nodeFaults, processFaults, type Fault } from "./faults.ts";
import { findFolderFlaws, type FolderScenario, runFolderScenarios } from "./folder-scenarios.ts";
import { parseJournal } from "./journal.ts";
import { judge, type Outcome, type Submitted } from "./judge.ts";
import { readOutcomes, readPartitions } from "./outcomes.ts";
import { partitionNames } from "./partition-folders.ts";
import { keyOf } from "./processes.ts";
import { parseQueryJournal } from "./query-journal.ts";
import { summaryOf, type ChaosReport } from "./report.ts";
import { SeededRandom } from "./seeded-random.ts";
import { watchLeases } from "./watch-leases.ts";
import { watchProcesses, type ProcessKind } from "./watch-processes.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly commands: number;
  /** The second node is cut off only once, during the long program, and all other commands are short. */
  readonly isShort: boolean;
  readonly tell: (what: string) => void;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const SUBMITTERS = 6;
/** How many commands may be open before submitters wait: enough to keep all nodes busy. */
const BACKLOG = 16;
const PATIENCE_MS = 60_000;
/** The pause after which a fault that found nothing to strike tries again. */
const NO_VICTIM_MS = 50;
/** At most this many extra commands are submitted while some fault has not struck yet. */
const MAX_EXTRA = 200;

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const began = performance.now();
  const world = await openWorld(options.commands + MAX_EXTRA, options.isShort ? 2 : 3);
  const over = new AbortController();
  const watch = watchLeases(world, over.signal);
  const giveUp = (): void => void world.destroy().then(() => process.exit(1));
  for (const signal of SIGNALS) process.once(signal, giveUp);
  try {
    const report = await inWorld(world, options);
    return { ...report, left: await world.close(), seconds: (performance.now() - began) / 1000 };
  } finally {
    over.abort();
    await watch;
    await world.close();
    for (const signal of SIGNALS) process.off(signal, giveUp);
  }
}

async function inWorld(world: ChaosWorld, options: ChaosOptions): Promise<Omit<ChaosReport, "left" | "seconds">> {
  await Promise.all(world.nodes.map((node) => node.start()));
  const reader = clientOf(world, options, 5);
  await prepareAccount(world, reader);
  options.tell("run many equal programs without a fault");
  const calm = options.isShort ? [] : await submitInCalm(world, clientOf(world, options, 6));
  options.tell("cut the second node off during a long run");
  const long = await cutOffDuringRun(world, clientOf(world, options, 4));
  const { submitted: others, scenarios, faults, seen } = await submitUnderFaults(world, options);
  const repeated = await Promise.all(world.keysToRepeat.map((key) => reader.submitShort(key)));
  const submitted = [...calm, long, ...others, ...repeated];
  await until(async () => (await countOpen(world)) === 0 && (await countRunsOfCommands(world)) === 0);
  options.tell("read how all commands ended");
  const outcomes = await readOutcomes(world, reader, submitted);
  const lines = parseJournal(readFileSync(world.journal, "utf8"));
  const killed = killedAttempts(world);
  const verdict = judge(submitted, outcomes, {
    ...world,
    killed,
    lines,
    queries: parseQueryJournal(readFileSync(world.queryJournal, "utf8")),
    partitions: partitionNames(),
  });
  const unlisted = await partitionFlaws(reader, submitted, outcomes);
  const uncopied = await world.copies.findFlaws(copiesOf(submitted, outcomes));
  const misplaced = await findFolderFlaws(reader, scenarios);
  return {
    verdict: { ...verdict, lost: [...verdict.lost, ...unlisted, ...uncopied, ...misplaced] },
    folderChanges: scenarios.reduce((sum, { changes }) => sum + changes, 0),
    faults: { ...faults, "cut the second node off during a long run": 1 },
    isOverloaded: world.outages.isOverloaded,
    cutOffAnswers: world.cutOffAnswers,
    leftOut: typeof world.nodeClock === "string" ? [`a step of a node's clock: ${world.nodeClock}`] : [],
    calmShares: options.isShort ? undefined : sharesOf(calm, outcomes, world),
    ...summaryOf(submitted, outcomes, lines, killed),
    seen,
  };
}

/** The attempts in the form `command/number`. */
function killedAttempts({ nodes, killedRunners }: ChaosWorld): Set<string> {
  const killed = nodes.flatMap((node) => node.runsOnDisk()).filter(({ runner }) => killedRunners.has(keyOf(runner)));
  return new Set(
    killed.flatMap(({ attempt }) => (attempt === undefined ? [] : `${attempt.command}/${attempt.number}`)),
  );
}

async function prepareAccount({ spark, folders, copies }: ChaosWorld, client: ChaosClient): Promise<void> {
  const cluster = `/api/v2/clusters/${QUERY_LABEL}`;
  await client.send("POST", "/api/v2/clusters", { labels: [QUERY_LABEL], engine: { type: "connect", url: spark.url } });
  // A failed start is not repeated for half a minute, so the cluster has to be up before the first fault.
  await client.send("PUT", `${cluster}/state`, { state: "start" });
  await until(async () => JSON.parse((await client.read(`${cluster}/state`)).text).state === "UP");
  await client.send("PUT", "/api/v2/accounts", {
    account: { hdfs_http_address: folders.address, ...copies.settings },
  });
}

function copiesOf(
  submitted: readonly Submitted[],
  outcomes: readonly Outcome[],
): { id: number; key: string; isDone: boolean }[] {
  const done = new Set(outcomes.filter(({ status }) => status === "done").map(({ id }) => id));
  return submitted.filter(({ kind }) => kind === "copy").map(({ id, key }) => ({ id, key, isDone: done.has(id) }));
}

/** The metastore must list every partition of each table whose refresh is done, exactly once. */
async function partitionFlaws(
  client: ChaosClient,
  submitted: readonly Submitted[],
  outcomes: readonly Outcome[],
): Promise<string[]> {
  const done = new Set(outcomes.filter(({ status }) => status === "done").map(({ id }) => id));
  const refreshes = submitted.filter(({ id, kind }) => kind === "refresh" && done.has(id));
  const wanted = partitionNames().toSorted().join(" ");
  return [...(await readPartitions(client, refreshes))].flatMap(([id, names]) =>
    names.toSorted().join(" ") === wanted ? [] : [`${id} is done but its table has ${names.join(" ")}`],
  );
}

interface FaultyPhase {
  readonly submitted: Submitted[];
  readonly scenarios: FolderScenario[];
  readonly faults: Record<string, number>;
  readonly seen: Record<ProcessKind, number>;
}

/** Submits all commands while faults strike. Settles when most commands have ended. */
async function submitUnderFaults(world: ChaosWorld, options: ChaosOptions): Promise<FaultyPhase> {
  const { seed, isShort, tell } = options;
  const kinds = {
    ...processFaults(world),
    ...nodeFaults,
    ...(isShort ? {} : { ...networkFaults, ...clockFaults(world) }),
  };
  const faults: Record<string, number> = Object.fromEntries(Object.keys(kinds).map((name) => [name, 0]));
  const calm = new AbortController();
  const haveStruck = (): boolean => Object.values(faults).every((times) => times > 0);
  const lane = async (some: Readonly<Record<string, Fault>>, laneSeed: number, pauseMs: [number, number]) => {
    const random = new SeededRandom(~laneSeed);
    for (const [name, fault] of deal(some, new SeededRandom(laneSeed))) {
      await delay(random.between(...pauseMs));
      if (calm.signal.aborted) return;
      const mayMiss = (faults[name] ?? 0) > 0;
      const hasStruck = await strike(() => fault(world, random), mayMiss, calm.signal);
      if (hasStruck) tell(name);
      faults[name] = (faults[name] ?? 0) + (hasStruck ? 1 : 0);
    }
  };
  const pause = isShort ? 0.5 : 1;
  const lanes = [
    lane(processFaults(world), seed, [300 * pause, 1500 * pause]),
    lane(nodeFaults, seed + 1, [500 * pause, 4000 * pause]),
    ...(isShort ? [] : [lane(networkFaults, seed + 3, [4000, 16_000])]),
    ...(isShort ? [] : [lane(clockFaults(world), seed + 7, [1000, 8000])]),
  ];
  const seen = watchProcesses(world, calm.signal);
  const scenarios = runFolderScenarios(clientOf(world, options, 8), calm.signal);
  scenarios.catch(() => calm.abort()); // a failure is thrown below, after the faults have ended
  try {
    const submitted = await submitAll(world, options, haveStruck);
    await until(async () => (await countOpen(world)) < BACKLOG / 2);
    calm.abort();
    await Promise.all(lanes);
    return { submitted, scenarios: await scenarios, faults, seen: await seen };
  } finally {
    // Also after a failure: no fault may start anything again once this has settled.
    calm.abort();
    await Promise.allSettled([...lanes, seen, scenarios]);
  }
}

/** The first fault of each kind waits until there is something to strike. */
async function strike(fault: () => Promise<boolean>, mayMiss: boolean, calm: AbortSignal): Promise<boolean> {
  for (;;) {
    if (await fault()) return true;
    if (mayMiss || calm.aborted) return false;
    await delay(NO_VICTIM_MS);
  }
}

/** Submits extra commands while some fault has not struck yet. */
async function submitAll(world: ChaosWorld, options: ChaosOptions, isEnough: () => boolean): Promise<Submitted[]> {
  const client = clientOf(world, options, 2);
  const submitted: Submitted[] = [];
  let next = 0;
  const isWanted = (): boolean => next < options.commands || (!isEnough() && next < options.commands + MAX_EXTRA);
  const submitter = async (): Promise<void> => {
    while (isWanted()) {
      const index = next++;
      submitted.push(await client.submit(index));
      await until(async () => (await countOpen(world)) < BACKLOG);
    }
  };
  await Promise.all(Array.from({ length: SUBMITTERS }, submitter));
  return submitted;
}

function clientOf({ nodes, account }: ChaosWorld, { seed, isShort }: ChaosOptions, more: number): ChaosClient {
  return new ChaosClient(nodes, account.token, seed + more, !isShort);
}

/** Returns after a minute even if the condition does not hold: the judge then finds what is missing. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    if (await isSo()) return;
    await delay(200);
  }
}

/** Infinity while the database is away. */
async function countOpen({ db }: ChaosWorld): Promise<number> {
  const text = "select count(*)::int as count from command where end_time is null";
  const [row] = await db.system.query<{ count: number }>(text).catch(() => []);
  return row?.count ?? Infinity;
}

async function countRunsOfCommands({ nodes }: ChaosWorld): Promise<number> {
  const runs = await Promise.all(nodes.map((node) => node.runs()));
  return runs.flat().filter(({ attempt }) => attempt !== undefined).length;
}
