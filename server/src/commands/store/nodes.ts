import type { Queryable, Tx } from "../../db/database.ts";

/**
 * An operator sets the first three states. Only an active node takes new commands; running commands continue in every
 * state.
 *
 * | state | means | becomes |
 * |---|---|---|
 * | `active` | takes commands | |
 * | `paused` | takes no commands for now | |
 * | `draining` | takes only later attempts that no other node may run, because it is to be removed | `drained`, by the node itself, after its last command |
 * | `drained` | can be removed; the state survives restarts until an operator changes it | |
 */
export const NODE_STATES = ["active", "paused", "draining", "drained"] as const;
export type NodeState = (typeof NODE_STATES)[number];
export const ORDERED_STATES = ["active", "paused", "draining"] as const satisfies readonly NodeState[];
export type OrderedState = (typeof ORDERED_STATES)[number];

export interface NodeRegistration {
  readonly id: string;
  readonly host: string;
  readonly bootId: string;
  readonly memoryBudgetMiB: number;
  readonly version: string;
}

/** A restarted node keeps the state that an operator has set. */
export async function registerNode(db: Queryable, node: NodeRegistration): Promise<void> {
  await db.query(
    `insert into node (id, host, boot_id, memory_budget_mib, version) values ($1, $2, $3, $4, $5)
     on conflict (id) do update
     set host = excluded.host, boot_id = excluded.boot_id, memory_budget_mib = excluded.memory_budget_mib,
         version = excluded.version, started_at = now(), heartbeat_at = now(), beat = node.beat + 1`,
    [node.id, node.host, node.bootId, node.memoryBudgetMiB, node.version],
  );
}

export interface HeartbeatReply {
  readonly state: NodeState;
  /** The database's time, in milliseconds since the epoch. */
  readonly databaseMs: number;
}

/**
 * Undefined: this database does not know the node. Only the node itself may call it, and not during a claim: a draining
 * node without commands counts as drained.
 */
export async function nodeHeartbeat(db: Queryable, nodeId: string): Promise<HeartbeatReply | undefined> {
  const [row] = await db.query<HeartbeatReply>(
    `update node
     set heartbeat_at = now(), beat = beat + 1,
         state = case when state = 'draining' and not exists (
                   select from command where command.node_id = node.id and command.status in ('running', 'cancelling')
                 ) and not exists (
                   select from command
                   where command.only_node_id = node.id and command.status = 'running' and command.node_id is null
                 ) then 'drained' else state end
     where id = $1 returning state, (extract(epoch from now()) * 1000)::float8 as "databaseMs"`,
    [nodeId],
  );
  return row;
}

/**
 * Returns the timeline of PostgreSQL, a number that changes with every failover, if it is not noted for every node. The
 * name of a WAL file begins with it, and every role may read that.
 */
export async function findNewTimeline(db: Queryable): Promise<number | undefined> {
  const [row] = await db.query<{ timeline: number }>(
    `select current.timeline
     from (select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint as timeline) current
     where exists (select from node where node.timeline is distinct from current.timeline)`,
  );
  return row?.timeline;
}

/** Whether PostgreSQL is a standby, or still replays its log. */
export async function isInRecovery(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ isInRecovery: boolean }>(`select pg_is_in_recovery() as "isInRecovery"`);
  return row?.isInRecovery === true;
}

/**
 * Notes the timeline. If another one was noted before, first leaves a gap in every sequence: ids that were given out on
 * the old timeline, and lost with it, are not given out again. Returns whether it left gaps.
 */
export async function noteTimeline(tx: Tx, timeline: number, gap: number): Promise<boolean> {
  tx.send("select pg_advisory_xact_lock(hashtextextended('headgate timeline', 0))");
  const others = await tx.query("select from node where timeline <> $1 limit 1", [timeline]);
  if (others.length > 0) {
    await tx.query(
      `select setval(format('%I.%I', schemaname, sequencename)::regclass, last_value + $1)
       from pg_sequences where schemaname = current_schema() and last_value is not null`,
      [gap],
    );
  }
  await tx.query("update node set timeline = $1 where timeline is distinct from $1", [timeline]);
  return others.length > 0;
}

/** Called periodically, because the registration of a node does not contain the address. */
export async function announceAddress(db: Queryable, nodeId: string, address: string | null): Promise<void> {
  await db.query("update node set address = $2 where id = $1 and address is distinct from $2", [nodeId, address]);
}

/** Undefined: it has no address. */
export async function findAddress(
  db: Queryable,
  nodeId: string,
): Promise<{ address: string; host: string } | undefined> {
  const [row] = await db.query<{ address: string; host: string }>(
    "select address, host from node where id = $1 and address is not null",
    [nodeId],
  );
  return row;
}

/** A node and its last heartbeat. */
export interface NodeBeat {
  readonly id: string;
  readonly state: NodeState;
  readonly memoryBudgetMiB: number;
  readonly beat: number;
  /** By the database's clock of that moment: for people, and for nodes of a version that does not count beats. */
  readonly heartbeatAt: Date;
}

export function listBeats(db: Queryable): Promise<NodeBeat[]> {
  return db.query<NodeBeat>(
    `select id, state, memory_budget_mib as "memoryBudgetMiB", beat, heartbeat_at as "heartbeatAt" from node`,
  );
}

export interface NodeRow {
  readonly id: string;
  readonly host: string;
  readonly state: NodeState;
  readonly version: string;
  readonly memoryBudgetMiB: number;
  readonly memoryUsedMiB: number;
  readonly running: number;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
}

export function listNodes(db: Queryable, nodeId: string | null = null): Promise<NodeRow[]> {
  return db.query<NodeRow>(
    `select node.id, node.host, node.state, node.version, node.memory_budget_mib as "memoryBudgetMiB",
            held.memory as "memoryUsedMiB", held.running, node.started_at as "startedAt",
            node.heartbeat_at as "heartbeatAt"
     from node cross join lateral (
       select count(*) as running, coalesce(sum(memory_mib), 0) as memory
       from command where command.node_id = node.id and command.status in ('running', 'cancelling')
     ) held
     where $1::uuid is null or node.id = $1
     order by node.started_at, node.id`,
    [nodeId],
  );
}

/** False: there is no such node. */
export async function setNodeState(db: Queryable, nodeId: string, state: OrderedState): Promise<boolean> {
  const rows = await db.query("update node set state = $2 where id = $1 returning id", [nodeId, state]);
  return rows.length > 0;
}
