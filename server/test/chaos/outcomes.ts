import type { ChaosClient } from "./chaos-client.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import { withoutStep } from "./clock-step.ts";
import { type CopiedRow, formatCopied } from "./copied-files.ts";
import type { Attempt, Outcome, Submitted } from "./judge.ts";
import { tableName } from "./metastore-tables.ts";

const CONCURRENT_READERS = 8;

/** Reads from the API, as a client would, how all commands ended. The store adds what the API does not show. */
export async function readOutcomes(
  world: ChaosWorld,
  client: ChaosClient,
  submitted: readonly Submitted[],
): Promise<Outcome[]> {
  const ids = (await world.db.system.query<{ id: number }>("select id from command order by id")).map(({ id }) => id);
  const stored = await readStored(world);
  const outcomes: Outcome[] = [];
  const reader = async (): Promise<void> => {
    for (let id = ids.shift(); id !== undefined; id = ids.shift()) {
      const kind = submitted.find((each) => each.id === id)?.kind;
      outcomes.push(await readOutcome(client, id, kind, stored));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_READERS }, reader));
  return outcomes;
}

async function readOutcome(
  client: ChaosClient,
  id: number,
  kind: Submitted["kind"] | undefined,
  stored: Stored,
): Promise<Outcome> {
  const { status } = await json<{ status: string }>(client, `/commands/${id}`);
  const { attempts: shown } = await json<{ attempts: ShownAttempt[] }>(client, `/commands/${id}/attempts`);
  const attempts = shown.map((each) => attemptOf(each, stored.attempt(id, each.number)));
  const isOnOneNode = attempts.every(({ node }) => node === attempts[0]?.node);
  return {
    id,
    status,
    endMs: stored.endMs(id),
    attempts,
    result: status === "done" ? await readResult(client, id, kind) : undefined,
    log: isOnOneNode ? (await client.read(`/commands/${id}/logs`)).text : undefined,
  };
}

interface ShownAttempt {
  readonly number: number;
  readonly exit_code: number | null;
  readonly cause: string | null;
}

function attemptOf(shown: ShownAttempt, stored: StoredAttempt): Attempt {
  return { ...stored, number: shown.number, exitCode: shown.exit_code, cause: shown.cause };
}

/** For a refresh: the partitions that it reports as added, one per line. For a copy: its rows. */
async function readResult(client: ChaosClient, id: number, kind: Submitted["kind"] | undefined): Promise<string> {
  if (kind === "copy") return formatCopied(await json<CopiedRow[]>(client, `/commands/${id}/results?format=json`));
  if (kind !== "refresh") return (await json<{ results: string }>(client, `/commands/${id}/results`)).results;
  const rows = await json<{ partition: string }[]>(client, `/commands/${id}/results?format=json`);
  return rows.map(({ partition }) => partition).join("\n");
}

/** The partitions that the metastore lists for the table of each refresh, by the id of the command. */
export async function readPartitions(
  client: ChaosClient,
  refreshes: readonly Submitted[],
): Promise<Map<number, string[]>> {
  const known = new Map<number, string[]>();
  for (const { id, key } of refreshes) {
    const table = tableName(Number(key.split("-")[1]) + 1);
    const rows = await json<{ PART_NAME: string }[]>(client, `/hive/default/${table}/partitions`);
    known.set(
      id,
      rows.map(({ PART_NAME: name }) => name),
    );
  }
  return known;
}

async function json<T>(client: ChaosClient, path: string): Promise<T> {
  const { status, text } = await client.read(path);
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`);
  return JSON.parse(text) as T; // the caller knows the reply of the operation
}

/** Details that the API does not show: nodes, and times with fractions of a second. */
interface Stored {
  attempt(command: number, number: number): StoredAttempt;
  endMs(command: number): number | null;
}

type StoredAttempt = Pick<Attempt, "startedMs" | "endedMs" | "node">;

async function readStored({ db, nodes }: ChaosWorld): Promise<Stored> {
  const attempts = await db.system.query<StoredAttempt & { key: string; nodeId: string }>(
    `select command_id || '/' || number as key, node_id as "nodeId", ${milliseconds("started_at")} as "startedMs",
            ${milliseconds("ended_at")} as "endedMs" from command_attempt`,
  );
  const commands = await db.system.query<{ id: number; endMs: number | null }>(
    `select id, ${milliseconds("end_time")} as "endMs" from command`,
  );
  const ids = nodes.map(({ id }) => id);
  const nowMs = Date.now();
  const trueMs = (storedMs: number): number => withoutStep(storedMs, nowMs);
  const attemptBy = new Map(
    attempts.map(({ key, nodeId, startedMs, endedMs }) => [
      key,
      { startedMs: trueMs(startedMs), endedMs: endedMs === null ? null : trueMs(endedMs), node: ids.indexOf(nodeId) },
    ]),
  );
  const endBy = new Map(commands.map(({ id, endMs }) => [id, endMs === null ? null : trueMs(endMs)]));
  return {
    attempt(command, number) {
      const found = attemptBy.get(`${command}/${number}`);
      if (found === undefined) throw new Error(`attempt ${number} of ${command} is not stored`);
      return found;
    },
    endMs: (command) => endBy.get(command) ?? null,
  };
}

const milliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;
