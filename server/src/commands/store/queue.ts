/**
 * The SQL of the queue. The command row is the job, and its columns are the state of the command:
 *
 * | status | node_id | handle | it | leaves by |
 * |---|---|---|---|---|
 * | waiting | – | – | waits for its turn from `due_at` on | claim, cancel |
 * | running | node | – | is claimed; nothing was spawned | markSpawned, release, settle |
 * | running | node | set | was spawned: it runs, has ended, or is lost | settle, or release if it is restartable |
 * | running | – | – | waits again: for its next attempt, or because its node released it or is lost | claim, cancel, endUnclaimed, endBetweenAttempts |
 * | cancelling | node | any | is being ended by its node | settle, release (both: cancelled) |
 * | done, error, cancelled | – | – | has ended | never |
 *
 * A claim raises the fence, and every write of the claimer names its node and fence: if it changes no row, another node
 * has claimed the command. `attempt` counts spawned runs: a claim adds one, and release subtracts it; but an attempt that
 * was spawned and has not ended continues with the next claim. Where later attempts continue what the first has left on
 * its node's disk, `only_node_id` names that node, and no other may claim the command. Every search uses a partial index
 * of the waiting or the running commands, so its cost does not grow with the history.
 */
import type { Queryable, Tx } from "../../db/database.ts";

export const FREE = "(command.status = 'waiting' or (command.status = 'running' and command.node_id is null))";
export const HELD = "command.status in ('running', 'cancelling')";
/** The attempt was spawned and has not ended, so the next claim continues it. */
export const ATTEMPT_GOES_ON = `exists (select from command_attempt
  where command_id = command.id and number = command.attempt and ended_at is null)`;
const MINE = `command.id = $1 and command.fence = $2 and command.node_id = $3 and ${HELD}`;

/** Identifies the writer: a node's claim of a command. */
export interface Claim {
  readonly id: number;
  readonly fence: number;
  readonly nodeId: string;
}

/** Ends the running attempt of each cancelled command in `commands`. */
const endCancelledAttempt = (commands: string): string =>
  `update command_attempt set ended_at = now(), cause = 'cancelled' from ${commands}
   where command_id = ${commands}.id and number = ${commands}.attempt and ${commands}.status = 'cancelled'
     and ended_at is null`;

const claimKey = ({ id, fence, nodeId }: Claim): [number, number, string] => [id, fence, nodeId];

/** Call it before the run begins. False: it was cancelled meanwhile, or another node has claimed it. */
export async function markSpawned(db: Queryable, run: Claim, handle: unknown): Promise<boolean> {
  const rows = await db.query(
    `with spawned as (
       update command
       set handle = $4, start_time = coalesce(start_time, now()), heartbeat_at = now()
       where ${MINE} and status = 'running'
       returning id, account_id, attempt
     )
     insert into command_attempt (command_id, account_id, number, node_id)
     select id, account_id, attempt, $3 from spawned
     on conflict (command_id, number) do update set started_at = now(), node_id = excluded.node_id
     returning number`,
    [...claimKey(run), JSON.stringify(handle)],
  );
  return rows.length > 0;
}

/** Progress never falls, and reaches 100 only when the command is done. */
export async function noteProgress(
  db: Queryable,
  run: Claim,
  { pid, progress }: { pid: number | null; progress: number },
): Promise<boolean> {
  const rows = await db.query(
    `update command set pid = $4, progress = greatest(progress, least($5, 99)), heartbeat_at = now()
     where ${MINE} returning id`,
    [...claimKey(run), pid, progress],
  );
  return rows.length > 0;
}

/**
 * Makes the command free to be claimed again: nothing was spawned, or the run is restartable and its attempt continues.
 * A command that is being cancelled ends here, together with such an attempt. Undefined: another node has claimed it.
 */
export async function release(
  db: Queryable,
  run: Claim,
  delaySeconds = 0,
): Promise<"running" | "cancelled" | undefined> {
  const [row] = await db.query<{ status: "running" | "cancelled" }>(
    `with released as (
       update command
       set node_id = null, handle = null, pid = null,
           attempt = attempt - case when ${ATTEMPT_GOES_ON} then 0 else 1 end,
           due_at = now() + make_interval(secs => $4),
           status = case status when 'cancelling' then 'cancelled' else status end,
           end_time = case status when 'cancelling' then now() end
       where ${MINE} returning id, attempt, status
     ), ended as (${endCancelledAttempt("released")})
     select status from released`,
    [...claimKey(run), delaySeconds],
  );
  return row?.status;
}

export interface Settlement {
  /** `retry`: the next attempt follows after `delaySeconds`. */
  readonly next: { readonly status: "done" | "error" } | { readonly status: "retry"; readonly delaySeconds: number };
  readonly exitCode: number | null;
  readonly cause: string | null;
  readonly outputBytes: number | null;
  readonly logBytes: number | null;
  /** Stored only if the command is done now. */
  readonly qlog: string | null;
}

export interface SettledCommand {
  readonly id: number;
  readonly status: "running" | "done" | "error" | "cancelled";
  /** From the first start to the end; null when it never started. */
  readonly seconds: number | null;
}

/**
 * A command that is being cancelled ends as cancelled, whatever its outcome. `staysOnNode`: only the node of this run may
 * run the next attempt. Undefined: another node has it.
 */
export async function settle(
  db: Queryable,
  run: Claim,
  settlement: Settlement,
  staysOnNode: boolean,
): Promise<SettledCommand | undefined> {
  const { next, exitCode, cause, outputBytes, logBytes, qlog } = settlement;
  const [row] = await db.query<SettledCommand>(
    `with settled as (
       update command
       set node_id = null, handle = null, pid = null,
           status = case when status = 'cancelling' then 'cancelled' when $4 = 'retry' then 'running' else $4 end,
           end_time = case when status = 'running' and $4 = 'retry' then null else now() end,
           due_at = now() + make_interval(secs => $5),
           only_node_id = case when $11 then node_id else only_node_id end,
           lane = lane || case when $11 and only_node_id is null then ' on node ' || node_id else '' end,
           progress = case when status = 'running' and $4 = 'done' then 100 else progress end,
           num_result_dir = case when status = 'running' and $4 = 'done' then 1 else num_result_dir end,
           result_bytes = $8, log_bytes = $9,
           qlog = case when status = 'running' and $4 = 'done' then $10 end
       where ${MINE}
       returning id, account_id, status, attempt, start_time, end_time
     ), noted as (
       insert into command_attempt (command_id, account_id, number, ended_at, exit_code, cause, node_id)
       select id, account_id, attempt, now(), $6, $7, $3 from settled
       on conflict (command_id, number) do update
       set ended_at = excluded.ended_at, exit_code = excluded.exit_code, cause = excluded.cause
     ), unpublished as (
       insert into command_publishing (command_id, account_id, attempt, node_id)
       select id, account_id, attempt, $3 from settled where $9 > 0 or $7 is not null or (status = 'done' and $8 > 0)
       on conflict do nothing
     )
     select id, status, extract(epoch from end_time - start_time)::float8 as seconds from settled`,
    [
      ...claimKey(run),
      next.status,
      next.status === "retry" ? next.delaySeconds : 0,
      exitCode,
      cause,
      outputBytes,
      logBytes,
      qlog,
      staysOnNode && next.status === "retry",
    ],
  );
  return row;
}

/**
 * Ends a command that no node holds as `error`, in an attempt of its own. Returns the number of the attempt; undefined: a
 * node has claimed it meanwhile, or it has ended.
 */
export async function endUnclaimed(
  db: Queryable,
  { id, nodeId, cause }: { readonly id: number; readonly nodeId: string; readonly cause: string },
): Promise<number | undefined> {
  const [row] = await db.query<{ attempt: number }>(
    `with ended as (
       update command
       set status = 'error', end_time = now(), fence = fence + 1,
           attempt = attempt + case when ${ATTEMPT_GOES_ON} then 0 else 1 end
       where id = $1 and ${FREE} returning id, account_id, attempt
     ), noted as (
       insert into command_attempt (command_id, account_id, number, ended_at, cause, node_id)
       select id, account_id, attempt, now(), $2, $3 from ended
       on conflict (command_id, number) do update set ended_at = excluded.ended_at, cause = excluded.cause
     ), unpublished as (
       insert into command_publishing (command_id, account_id, attempt, node_id)
       select id, account_id, attempt, $3 from ended on conflict do nothing
     )
     select attempt from ended`,
    [id, cause, nodeId],
  );
  return row?.attempt;
}

/** For a cluster that is terminated; see contract.ts. The last attempt records the reason. */
export async function endBetweenAttempts(tx: Tx, clusterId: number): Promise<void> {
  await tx.query(
    `with ended as (
       update command set status = 'error', end_time = now()
        where account_id = current_account_id() and status = 'running' and node_id is null and cluster_id = $1
          and needs_cluster
        returning id, attempt)
     update command_attempt
        set ended_at = coalesce(ended_at, now()),
            cause = concat_ws('; ', cause, 'its cluster was terminated before the next attempt')
       from ended where command_id = ended.id and number = ended.attempt`,
    [clusterId],
  );
}

/** Ends a waiting command, or marks a running one for its node to end. Undefined: it has ended already. */
export async function cancel(db: Queryable, commandId: number): Promise<"cancelled" | "cancelling" | undefined> {
  const [row] = await db.query<{ status: "cancelled" | "cancelling" }>(
    `with asked as (
       update command
       set status = case when ${FREE} then 'cancelled' else 'cancelling' end,
           end_time = case when ${FREE} then now() end
       where id = $1 and end_time is null
       returning id, attempt, status
     ), ended as (${endCancelledAttempt("asked")})
     select status from asked`,
    [commandId],
  );
  return row?.status;
}

export interface QueueDepth {
  readonly waiting: number;
  readonly oldestSeconds: number;
  readonly running: readonly { readonly clusterId: number; readonly count: number }[];
}

/** Reads only waiting and running commands, by their partial indexes. */
export async function readQueueDepth(db: Queryable): Promise<QueueDepth> {
  const [row] = await db.query<QueueDepth>(
    `select count(*) as waiting,
            coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now())), 0)::float8
              as "oldestSeconds",
            (select coalesce(json_agg(json_build_object('clusterId', cluster_id, 'count', running)), '[]')
             from (select cluster_id, count(*) as running from command
                   where status in ('running', 'cancelling') and node_id is not null group by cluster_id) held
            ) as running
     from command where status = 'waiting' or (status = 'running' and node_id is null)`,
  );
  return row ?? { waiting: 0, oldestSeconds: 0, running: [] };
}

/** Added to the delay of a retry, for a run that a node has released. */
const SLACK_SECONDS = 5;
/** Publishing is retried after a minute at the latest. */
const PUBLISHING_SECONDS = 61;

/**
 * Repairs due times after the database's clock was set back: a due time further ahead than the longest delay would keep its
 * command waiting until the clock has caught up. Commands without a delay become due now, in the order of their ids; a retry
 * waits for its whole delay again. Repeating it changes nothing.
 */
export async function repairDueTimes(db: Queryable, nodeId: string): Promise<void> {
  await db.query(
    `with ahead as (
       select id from command
       where ${FREE} and due_at > now() + case status when 'waiting' then interval '0'
         else make_interval(mins => retry_delay_minutes, secs => $1) end
       order by id for update skip locked
     )
     update command set due_at = now() + case status when 'waiting' then interval '0'
       else make_interval(mins => retry_delay_minutes) end
     from ahead where command.id = ahead.id`,
    [SLACK_SECONDS],
  );
  await db.query(
    "update command_publishing set due_at = now() where node_id = $1 and due_at > now() + make_interval(secs => $2)",
    [nodeId, PUBLISHING_SECONDS],
  );
}
