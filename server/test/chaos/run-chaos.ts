import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { commandFiles } from "../../src/commands/command-files.ts";
import { ChaosClient, type Submitted } from "./chaos-client.ts";
import { openWorld, type ChaosWorld } from "./chaos-world.ts";
import { cutOffDuringRun } from "./cut-off.ts";
import { deal, networkFaults, nodeFaults, processFaults, type Fault } from "./faults.ts";
import { judge, parseJournal, type StoredCommand, type Verdict } from "./journal.ts";
import { SeededRandom } from "./seeded-random.ts";

/**
 * Many short commands on two nodes over one database, while processes are killed and stopped, machines are started anew,
 * PostgreSQL dies and the second node is cut off from it; before all that it is cut off during a run that others take
 * over. What really ran is told by the programs themselves.
 */
export interface ChaosOptions {
  readonly seed: number;
  readonly commands: number;
  /** The second node is cut off only once, by arrangement, and no other command runs for long. */
  readonly isShort: boolean;
  readonly tell: (what: string) => void;
}

export interface ChaosReport {
  readonly verdict: Verdict;
  /** How often. */
  readonly faults: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** Why attempts failed. */
  readonly causes: Readonly<Record<string, number>>;
  readonly seconds: number;
}

const SUBMITTERS = 6;
/** Submitted and not ended: enough for all nodes to have something to do. */
const BACKLOG = 16;
const PATIENCE_MS = 90_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const began = performance.now();
  const world = await openWorld();
  try {
    await Promise.all(world.nodes.map((node) => node.start()));
    options.tell("cut the second node off during a long run");
    const long = await cutOffDuringRun(world, clientOf(world, options, 4));
    const { submitted, faults } = await wreak(world, options);
    await until(async () => (await countOpen(world)) === 0 && (await countProcesses(world)) === 0);
    const stored = await readStored(world);
    const expected = [long, ...submitted].map((each) => ({
      ...each,
      hit: world.hit.has(each.id),
      output: outputOf(world, stored, each.id),
    }));
    return {
      verdict: judge(parseJournal(readFileSync(world.journal, "utf8")), stored, expected),
      faults: { ...faults, "cut the second node off during a long run": 1 },
      statuses: countBy(stored.map(({ status }) => status)),
      causes: countBy(await readCauses(world)),
      seconds: (performance.now() - began) / 1000,
    };
  } finally {
    await world.close();
  }
}

/** Ends when all commands are submitted and most of them have ended, and every kind of fault has happened. */
async function wreak(
  world: ChaosWorld,
  options: ChaosOptions,
): Promise<{ submitted: Submitted[]; faults: Record<string, number> }> {
  const { seed, isShort, tell } = options;
  const faults: Record<string, number> = {};
  const calm = new AbortController();
  const lane = async (kinds: Readonly<Record<string, Fault>>, random: SeededRandom, pauseMs: [number, number]) => {
    for (const [name, fault] of deal(kinds, random)) {
      await delay(random.between(...pauseMs));
      if (calm.signal.aborted && Object.keys(kinds).every((each) => each in faults)) return;
      tell(name);
      const happened = await fault(world, random);
      faults[name] = (faults[name] ?? 0) + (happened ? 1 : 0);
    }
  };
  const lanes = [
    lane(processFaults, new SeededRandom(seed), [300, 1500]),
    lane(nodeFaults, new SeededRandom(seed + 1), [500, 4000]),
    ...(isShort ? [] : [lane(networkFaults, new SeededRandom(seed + 3), [1000, 8000])]),
  ];
  const submitted = await submitAll(world, options);
  await until(async () => (await countOpen(world)) < BACKLOG / 2);
  calm.abort();
  await Promise.all(lanes);
  return { submitted, faults };
}

async function submitAll(world: ChaosWorld, options: ChaosOptions): Promise<Submitted[]> {
  const client = clientOf(world, options, 2);
  const submitted: Submitted[] = [];
  let next = 0;
  const submitter = async (): Promise<void> => {
    while (next < options.commands) {
      const index = next++;
      submitted.push(await client.submit(index));
      await until(async () => (await countOpen(world)) < BACKLOG);
    }
  };
  await Promise.all(Array.from({ length: SUBMITTERS }, submitter));
  return submitted;
}

function clientOf({ nodes, account }: ChaosWorld, { seed, isShort }: ChaosOptions, more: number): ChaosClient {
  return new ChaosClient(nodes, account.token, new SeededRandom(seed + more), !isShort);
}

/** Gives up after a time in which everything should have happened; what is missing then is found by the judge. */
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

async function countProcesses({ nodes }: ChaosWorld): Promise<number> {
  const found = await Promise.all(nodes.flatMap((node) => [node.runners(), node.drivers()]));
  return found.flat().length;
}

function readStored({ db }: ChaosWorld): Promise<StoredCommand[]> {
  return db.system.query<StoredCommand>(
    `select id, status, retry, attempt, (extract(epoch from end_time) * 1000)::float8 as "endMs",
            last.cause, last.node_id as "nodeId"
     from command left join command_attempt last on last.command_id = command.id and last.number = command.attempt
     order by id`,
  );
}

async function readCauses({ db }: ChaosWorld): Promise<string[]> {
  const text = "select cause from command_attempt where cause is not null order by command_id, number";
  return (await db.system.query<{ cause: string }>(text)).map(({ cause }) => cause);
}

/** Of the node that ran it to its end: another may have an empty one of a run that it could not begin. */
function outputOf({ dataDirs, account }: ChaosWorld, stored: readonly StoredCommand[], id: number): string | undefined {
  const { attempt = 0, nodeId } = stored.find((row) => row.id === id) ?? {};
  const dataDir = dataDirs.find((each) => readFileSync(join(each, "node-id"), "utf8").trim() === nodeId);
  if (dataDir === undefined) return undefined;
  try {
    return readFileSync(commandFiles(dataDir, account.accountId, id).output(attempt), "utf8");
  } catch {
    return undefined; // it printed nothing
  }
}

function countBy(words: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(words, (word) => word)].map(([word, all]) => [word, all.length]));
}
