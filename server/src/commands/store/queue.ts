import type { Queryable, Tx } from "../../db/database.ts";
import type { RunnableCommand } from "../queue/executor.ts";

/**
 * The SQL of the queue. The command row is the job; what it holds says where the command stands:
 *
 * | status | node_id | handle | it | leaves by |
 * |---|---|---|---|---|
 * | waiting | – | – | waits for its turn from `due_at` on | claim, cancel |
 * | running | node | – | is claimed; nothing was spawned | markSpawned, release, settle |
 * | running | node | set | was spawned: it runs, has ended, or is lost | settle, release of what may be begun twice |
 * | running | – | – | waits again: for its next attempt, or because its node let go of it or is lost | claim, cancel |
 * | cancelling | node | any | is being ended by its node | settle, release (both: cancelled) |
 * | done, error, cancelled | – | – | has ended | never |
 *
 * A claim raises the fence, and every write of the claimer carries node and fence: zero rows mean that somebody else
 * has it now. `attempt` counts spawned runs: a claim begins the next one, and release takes that back; but an attempt that
 * was spawned and has not ended goes on, by whoever claims it. Every statement that looks for rows does so by one of the
 * partial indexes, whose size is that of what waits or runs, not that of the history.
 */
export const FREE = "(command.status = 'waiting' or (command.status = 'running' and command.node_id is null))";
export const HELD = "command.status in ('running', 'cancelling')";
/** It was spawned, and what it did is to be done by the next claim. */
const ATTEMPT_GOES_ON = `exists (select from command_attempt
  where command_id = command.id and number = command.attempt and ended_at is null)`;
const MINE = `command.id = $1 and command.fence = $2 and command.node_id = $3 and ${HELD}`;

/** Who writes: the run of a command that a node has claimed. */
export interface Claim {
  readonly id: number;
  readonly fence: number;
  readonly nodeId: string;
}

/** Of what ended cancelled in `commands`, the attempt that went on until then. */
const endCancelledAttempt = (commands: string): string =>
  `update command_attempt set ended_at = now(), cause = 'cancelled' from ${commands}
   where command_id = ${commands}.id and number = ${commands}.attempt and ${commands}.status = 'cancelled'
     and ended_at is null`;

const claimKey = ({ id, fence, nodeId }: Claim): [number, number, string] => [id, fence, nodeId];

export interface Candidate extends RunnableCommand {
  readonly dueAt: Date;
  /** Of its account and of its cluster, on all nodes. */
  readonly accountRunning: number;
  readonly clusterRunning: number;
  /** The cluster's own cap; null: the operator's. */
  readonly clusterCap: number | null;
  /** Whether its cluster is UP. */
  readonly isClusterUp: boolean;
}

/**
 * The first due commands of each lane of each cluster. The query hops from one lane to the next, so its cost grows with
 * the number of lanes and not with the number of commands in them. If an account has very many lanes, the query takes the
 * first command of each lane before the second of any, at most `perAccount` in all, and reads the text of only these
 * commands. It counts the running commands of an account once, not once for each candidate.
 */
export function listCandidates(
  db: Queryable,
  { perLane, perAccount }: { readonly perLane: number; readonly perAccount: number },
): Promise<Candidate[]> {
  return db.query<Candidate>(
    `with recursive busy as (
       (select cluster_id, lane from command where ${FREE} order by cluster_id, lane limit 1)
       union all
       select next.cluster_id, next.lane
       from busy cross join lateral (
         select command.cluster_id, command.lane from command
         where ${FREE} and (command.cluster_id, command.lane) > (busy.cluster_id, busy.lane)
         order by command.cluster_id, command.lane limit 1
       ) next
     ),
     head as (
       select first.id, cluster.account_id,
              row_number() over (partition by cluster.account_id order by first.place, first.due_at, first.id) as place
       from busy
       join cluster on cluster.id = busy.cluster_id
       cross join lateral (
         select id, due_at, row_number() over (order by due_at, id) as place from command
         where command.cluster_id = busy.cluster_id and command.lane = busy.lane and ${FREE} and due_at <= now()
         order by due_at, id limit $1
       ) first
     ),
     running as (
       select account_id, cluster_id, count(*) as commands from command
       where account_id in (select account_id from head) and status in ('running', 'cancelling') and node_id is not null
       group by account_id, cluster_id
     ),
     running_of_account as (select account_id, sum(commands)::bigint as commands from running group by account_id)
     select command.id, command_type as "commandType", command.command, command.options, due_at as "dueAt",
            resolved_macros as "resolvedMacros", app_id as "appId", command.pool,
            cluster.id as "clusterId", cluster.account_id as "accountId",
            cluster.max_concurrent_commands as "clusterCap", cluster.state = 'UP' as "isClusterUp",
            coalesce(running_of_account.commands, 0) as "accountRunning",
            coalesce(running.commands, 0) as "clusterRunning"
     from head
     join command on command.id = head.id
     join cluster on cluster.id = command.cluster_id
     left join running_of_account on running_of_account.account_id = cluster.account_id
     left join running on running.account_id = cluster.account_id and running.cluster_id = cluster.id
     where head.place <= $2
     order by due_at, command.id`,
    [perLane, perAccount],
  );
}

export interface Caps {
  readonly perAccount: number;
  readonly perCluster: number;
}

export interface ClaimedCommand extends RunnableCommand {
  readonly fence: number;
  readonly attempt: number;
  /** The user who submitted it. */
  readonly email: string;
  readonly name: string | null;
  readonly requestId: string;
  readonly timeoutSeconds: number | null;
  readonly retry: number;
  readonly retryDelayMinutes: number;
  readonly memoryMiB: number;
  readonly createdAt: Date;
  /** Since the start of the first attempt; null before it. */
  readonly elapsedSeconds: number | null;
  readonly status: "running" | "cancelling";
  readonly handle: unknown;
  readonly programText: string | null;
}

const CLAIMED = `
  command.id, command.account_id as "accountId", command.cluster_id as "clusterId", command.app_id as "appId",
  command.pool,
  command.command_type as "commandType", command.command, command.options, command.fence, command.attempt,
  command.name, (select email from app_user where app_user.id = command.user_id) as email,
  command.resolved_macros as "resolvedMacros", command.request_id as "requestId", command.timeout_seconds as "timeoutSeconds", command.retry,
  command.retry_delay_minutes as "retryDelayMinutes", command.memory_mib as "memoryMiB",
  command.created_at as "createdAt", command.status, command.handle,
  extract(epoch from now() - command.start_time)::float8 as "elapsedSeconds",
  (select resolved from command_source_text where command_id = command.id) as "programText"`;

/**
 * Undefined when another node was quicker, a cap is reached or this node shall not claim. The lock is the account's:
 * its clusters are its own, so both caps hold however many nodes claim at once.
 */
export async function claim(
  tx: Tx,
  nodeId: string,
  candidate: { readonly id: number; readonly accountId: number },
  memoryMiB: number,
  caps: Caps,
  needsCluster = true,
): Promise<ClaimedCommand | undefined> {
  tx.send("select pg_advisory_xact_lock(hashtextextended('headgate claim', $1::bigint))", [candidate.accountId]);
  const [row] = await tx.query<ClaimedCommand>(
    `update command
     set status = 'running', node_id = $2, fence = fence + 1, memory_mib = $3, handle = null, pid = null,
         attempt = attempt + case when ${ATTEMPT_GOES_ON} then 0 else 1 end,
         needs_cluster = $6, heartbeat_at = now()
     from cluster, lateral (
       select count(*) as of_account, count(*) filter (where other.cluster_id = cluster.id) as of_cluster
       from command other
       where other.account_id = cluster.account_id and other.status in ('running', 'cancelling')
         and other.node_id is not null
     ) running
     where command.id = $1 and ${FREE} and command.due_at <= now() and cluster.id = command.cluster_id
       and (cluster.state = 'UP' or not $6)
       and running.of_account < $4 and running.of_cluster < coalesce(cluster.max_concurrent_commands, $5)
       and exists (select from node where node.id = $2 and node.state = 'active')
     returning ${CLAIMED}`,
    [candidate.id, nodeId, memoryMiB, caps.perAccount, caps.perCluster, needsCluster],
  );
  return row;
}

/** What the node has claimed and not settled, by its own rows. */
export function listHeld(db: Queryable, nodeId: string): Promise<ClaimedCommand[]> {
  return db.query<ClaimedCommand>(`select ${CLAIMED} from command where command.node_id = $1 and ${HELD}`, [nodeId]);
}

/** Those without what only an adoption needs; asked every second. The end of a cluster is that of what needs it. */
export function listHeldStates(
  db: Queryable,
  nodeId: string,
): Promise<{ id: number; fence: number; status: "running" | "cancelling"; isClusterEnding: boolean }[]> {
  return db.query(
    `select command.id, command.fence, command.status,
            command.needs_cluster and cluster.state = 'TERMINATING' as "isClusterEnding"
     from command join cluster on cluster.id = command.cluster_id where command.node_id = $1 and ${HELD}`,
    [nodeId],
  );
}

/** False: it was cancelled meanwhile or is another's. The run may begin only after this was stored. */
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

/** Progress never falls, and is not complete before the command is. */
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
 * Others may have it, as if it had never been claimed: nothing was spawned, or what was may be begun twice, and its
 * attempt goes on. A cancelled one ends here, with such an attempt. Undefined: another's.
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
  /** `retry`: the next attempt, so many seconds from now. */
  readonly next: { readonly status: "done" | "error" } | { readonly status: "retry"; readonly delaySeconds: number };
  readonly exitCode: number | null;
  readonly cause: string | null;
  readonly outputBytes: number | null;
  readonly logBytes: number | null;
  /** Of what is done now. */
  readonly qlog: string | null;
}

export interface SettledCommand {
  readonly id: number;
  readonly status: "running" | "done" | "error" | "cancelled";
  /** From the first start to the end; null when it never started. */
  readonly seconds: number | null;
}

/** What was asked to be cancelled is cancelled, however it ended. Undefined: another's. */
export async function settle(db: Queryable, run: Claim, settlement: Settlement): Promise<SettledCommand | undefined> {
  const { next, exitCode, cause, outputBytes, logBytes, qlog } = settlement;
  const [row] = await db.query<SettledCommand>(
    `with settled as (
       update command
       set node_id = null, handle = null, pid = null,
           status = case when status = 'cancelling' then 'cancelled' when $4 = 'retry' then 'running' else $4 end,
           end_time = case when status = 'running' and $4 = 'retry' then null else now() end,
           due_at = now() + make_interval(secs => $5),
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
    ],
  );
  return row;
}

/** Runs of other nodes that have not been heard of for so long that their runners have ended. */
export function listAbandoned(
  db: Queryable,
  nodeId: string,
  silentSeconds: number,
): Promise<(ClaimedCommand & { nodeId: string })[]> {
  return db.query(
    `select ${CLAIMED}, node.id as "nodeId" from node join command on command.node_id = node.id and ${HELD}
     where node.id <> $1 and node.heartbeat_at < now() - make_interval(secs => $2)`,
    [nodeId, silentSeconds],
  );
}

/** Ends what nobody runs, asks the node that runs it to end it otherwise. Undefined: it has ended already. */
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
