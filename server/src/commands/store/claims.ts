/** The SQL that finds commands for a node, claims them, and lists those that nodes hold. */
import type { Queryable, Tx } from "../../db/database.ts";
import { type RunnableCommand, CONFIGURED_HEAP } from "./command-row.ts";
import { ATTEMPT_GOES_ON, FREE, HELD } from "./queue.ts";

export interface Candidate extends RunnableCommand {
  readonly lane: string;
  readonly dueAt: Date;
  /** The running commands of its account, and of its cluster, on all nodes. */
  readonly accountRunning: number;
  readonly clusterRunning: number;
  /** The cluster's own cap; null: the operator's. */
  readonly clusterCap: number | null;
  /** Whether its cluster is UP. */
  readonly isClusterUp: boolean;
  /** The only node that may claim it, because the attempt continues what an earlier one has left there; null: any. */
  readonly onlyNodeId: string | null;
}

export interface CandidateLimits {
  readonly perLane: number;
  readonly perAccount: number;
}

/**
 * The first due commands of each lane of each cluster. The query hops from one lane to the next: its cost grows with the
 * number of lanes, not with the number of commands. If an account has very many lanes, the query takes the first command
 * of each lane before the second of any, at most `perAccount` in all, and reads the text of only these commands. It counts
 * the running commands of an account once, not once for each candidate.
 */
export function listCandidates(db: Queryable, { perLane, perAccount }: CandidateLimits): Promise<Candidate[]> {
  // Numbers in the text instead of parameters: with parameters, PostgreSQL would often plan the query anew at each poll,
  // which takes longer than running it.
  if (![perLane, perAccount].every(Number.isSafeInteger)) throw new TypeError("limits must be integers");
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
       select first.id, first.due_at, cluster.account_id,
              row_number() over (partition by busy.cluster_id, busy.lane order by first.due_at, first.id) as position
       from busy
       join cluster on cluster.id = busy.cluster_id
       cross join lateral (
         select id, due_at from command
         where command.cluster_id = busy.cluster_id and command.lane = busy.lane and ${FREE} and due_at <= now()
         order by due_at, id limit ${perLane}
       ) first
     ),
     chosen as (
       select id, account_id, row_number() over (partition by account_id order by position, due_at, id) as position
       from head
     ),
     running as (
       select account_id, cluster_id, count(*) as commands from command
       where account_id in (select account_id from chosen) and status in ('running', 'cancelling')
         and node_id is not null
       group by account_id, cluster_id
     ),
     running_of_account as (select account_id, sum(commands)::bigint as commands from running group by account_id)
     select command.id, command.lane, command.kind, command_type as "commandType", command.command, command.options, due_at as "dueAt",
            resolved_macros as "resolvedMacros", app_id as "appId", command.pool,
            command.memory_mib as "statedMemoryMiB", ${CONFIGURED_HEAP} as "configuredHeap",
            cluster.id as "clusterId", cluster.account_id as "accountId",
            cluster.max_concurrent_commands as "clusterCap", cluster.state = 'UP' as "isClusterUp",
            command.only_node_id as "onlyNodeId",
            coalesce(running_of_account.commands, 0) as "accountRunning",
            coalesce(running.commands, 0) as "clusterRunning"
     from chosen
     -- One by one: a plan from when the table was small would otherwise read all of it.
     cross join lateral (select * from command where command.id = chosen.id limit 1) command
     join cluster on cluster.id = command.cluster_id
     left join app on app.id = command.app_id
     left join running_of_account on running_of_account.account_id = cluster.account_id
     left join running on running.account_id = cluster.account_id and running.cluster_id = cluster.id
     where chosen.position <= ${perAccount}
     order by due_at, command.id`,
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
  command.kind, command.command_type as "commandType", command.command, command.options, command.fence, command.attempt,
  command.name, (select email from app_user where app_user.id = command.user_id) as email,
  command.resolved_macros as "resolvedMacros", command.request_id as "requestId", command.timeout_seconds as "timeoutSeconds", command.retry,
  command.retry_delay_minutes as "retryDelayMinutes", command.memory_mib as "memoryMiB",
  command.created_at as "createdAt", command.status, command.handle,
  extract(epoch from now() - command.start_time)::float8 as "elapsedSeconds",
  (select ${CONFIGURED_HEAP} from cluster left join app on app.id = command.app_id
   where cluster.id = command.cluster_id) as "configuredHeap",
  (select resolved from command_source_text where command_id = command.id) as "programText"`;

/**
 * Undefined: another node has claimed the command or is the only one that may, a cap is reached, or this node takes no
 * commands; a draining one still takes those that only it may run. The lock is one per account. A cluster belongs to one
 * account, so both caps hold even if several nodes claim at the same time.
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
       and (command.only_node_id is null or command.only_node_id = $2)
       and exists (select from node where node.id = $2 and (
         node.state = 'active' or (node.state = 'draining' and command.only_node_id = node.id)))
     returning ${CLAIMED}`,
    [candidate.id, nodeId, memoryMiB, caps.perAccount, caps.perCluster, needsCluster],
  );
  return row;
}

/** The load of each node by cluster. Reads only rows of running commands. */
export function listLoads(
  db: Queryable,
): Promise<{ nodeId: string; clusterId: number; commands: number; memoryMiB: number }[]> {
  return db.query(
    `select node_id as "nodeId", cluster_id as "clusterId", count(*) as commands, sum(memory_mib) as "memoryMiB"
     from command where ${HELD} and node_id is not null group by node_id, cluster_id`,
  );
}

/** The commands that the node has claimed and not settled. */
export function listHeld(db: Queryable, nodeId: string): Promise<ClaimedCommand[]> {
  return db.query<ClaimedCommand>(`select ${CLAIMED} from command where command.node_id = $1 and ${HELD}`, [nodeId]);
}

/** The part of `listHeld` that is read every second. A cluster's end concerns only commands that need the cluster. */
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

/** A node and its last beat. */
interface SilentNode {
  readonly id: string;
  readonly beat: number;
}

/** The runs of nodes whose last beats are still the given ones. */
export function listAbandoned(
  db: Queryable,
  silent: readonly SilentNode[],
): Promise<(ClaimedCommand & { nodeId: string })[]> {
  return db.query(
    `select ${CLAIMED}, node.id as "nodeId"
     from unnest($1::uuid[], $2::bigint[]) silent (id, beat)
     join node on node.id = silent.id and node.beat = silent.beat
     join command on command.node_id = node.id and ${HELD}`,
    columnsOf(silent),
  );
}

export interface StrandedCommand extends ClaimedCommand {
  readonly nodeId: string;
  readonly isDrained: boolean;
}

/** The waiting commands that only one of these nodes may run, if it still has the given beat, or is drained. */
export function listStranded(db: Queryable, gone: readonly SilentNode[]): Promise<StrandedCommand[]> {
  return db.query(
    `select ${CLAIMED}, node.id as "nodeId", node.state = 'drained' as "isDrained"
     from unnest($1::uuid[], $2::bigint[]) gone (id, beat)
     join node on node.id = gone.id and (node.beat = gone.beat or node.state = 'drained')
     join command on command.only_node_id = node.id and command.status = 'running' and command.node_id is null`,
    columnsOf(gone),
  );
}

function columnsOf(nodes: readonly SilentNode[]): unknown[] {
  return [nodes.map(({ id }) => id), nodes.map(({ beat }) => beat)];
}
