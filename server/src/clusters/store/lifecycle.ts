import type { Queryable, Tx } from "../../db/database.ts";
import type { ClusterSettings } from "../cluster-settings.ts";
import type { ClusterState } from "./cluster.ts";

/**
 * The SQL of the states. Each statement is one transition and names the state it leaves, so of several who want the
 * same one makes it, and of an end and a start that cross, the later one counts.
 *
 * | state | leaves by | to |
 * |---|---|---|
 * | DOWN | `beginStart`, `beginUse`: a user, a command | PENDING |
 * | PENDING | `finish`: it is started | UP |
 * | PENDING | `failStart`: it cannot be started | DOWN, with the reason |
 * | PENDING, UP | `beginEnd`, `beginIdleEnd`: a user, the idle rule | TERMINATING |
 * | TERMINATING | `finish`: nothing of it is left | DOWN |
 *
 * PENDING and TERMINATING are work. A node takes it by `take` and counts `work_beat` up while it is at it; when another
 * node has observed no new beat for some seconds, it takes the work. (`worked_until` only tells whether a node has it, and
 * serves nodes of an earlier version.) Every change raises the fence, and what a node writes of its work carries the
 * fence it took: zero rows mean that somebody else decided otherwise.
 */
const MOVE = "state_fence = state_fence + 1, state_since = now(), worked_until = null";

export async function beginStart(tx: Tx, id: number): Promise<boolean> {
  return changed(
    tx,
    `update cluster set state = 'PENDING', start_failure = null, ${MOVE} where id = $1 and state = 'DOWN'`,
    [id],
  );
}

export interface UsedCluster {
  id: number;
  state: ClusterState;
  startFailure: string | null;
  /** Only now, and by this. */
  hasBegun: boolean;
}

/** As a start of each that is DOWN, but not at once after one that failed. Those that are deleted are left out. */
export function beginUse(system: Queryable, ids: readonly number[], patienceSeconds: number): Promise<UsedCluster[]> {
  return system.query(
    `with startable as (
       select id from cluster
        where id = any($1) and deleted_at is null and state = 'DOWN'
          -- A time that lies ahead is from before the clock was set back.
          and (start_failure is null or start_failed_at not between now() - make_interval(secs => $2) and now())
        order by id for update), -- in one order for all nodes
     begun as (
       update cluster set state = 'PENDING', ${MOVE} where id in (select id from startable) returning id, state)
     select id, start_failure as "startFailure", begun.id is not null as "hasBegun",
            -- Seen DOWN with nothing against a start, and not begun: another node was quicker.
            case when cluster.state = 'DOWN' and start_failure is null then 'PENDING'
                 else coalesce(begun.state, cluster.state) end as state
       from cluster left join begun using (id)
      where id = any($1) and deleted_at is null`,
    [ids, patienceSeconds],
  );
}

export async function beginEnd(tx: Tx, id: number): Promise<boolean> {
  return changed(
    tx,
    `update cluster set state = 'TERMINATING', up_since = null, ${MOVE} where id = $1 and state in ('PENDING', 'UP')`,
    [id],
  );
}

/** Only if it is as it was looked at, and still idle. */
export async function beginIdleEnd(
  tx: Tx,
  { id, accountId, fence }: { id: number; accountId: number; fence: number },
): Promise<boolean> {
  // The queue's lock: what is claimed meanwhile is seen by the next statement.
  tx.send("select pg_advisory_xact_lock(hashtextextended('headgate claim', $1::bigint))", [accountId]);
  return changed(
    tx,
    `update cluster set state = 'TERMINATING', up_since = null, ${MOVE}
      where id = $1 and state_fence = $2 and state = 'UP'
        and not exists (select from command where cluster_id = $1 and end_time is null and needs_cluster)`,
    [id, fence],
  );
}

export interface TakenWork extends Pick<ClusterSettings, "engine" | "sparkConfig" | "pools"> {
  id: number;
  accountId: number;
  token: Buffer | null;
  state: "PENDING" | "TERMINATING";
  fence: number;
}

/** A piece of work as it was seen: whether it is the same still. */
export interface SeenWork {
  readonly id: number;
  readonly fence: number;
  readonly beat: number;
  /** Changes with every beat, of earlier versions too. */
  readonly sign: string;
  /** No node is at it. */
  readonly isFree: boolean;
}

/** Undefined: a live node works on it, or it is done. `silent`: the work as it was when its node was found silent. */
export async function take(
  system: Queryable,
  id: number,
  leaseSeconds: number,
  silent?: SeenWork,
): Promise<TakenWork | undefined> {
  const [row] = await system.query<TakenWork>(
    `update cluster set state_fence = state_fence + 1, work_beat = work_beat + 1,
            worked_until = now() + make_interval(secs => $2)
      where id = $1 and state in ('PENDING', 'TERMINATING')
        and (worked_until is null or (state_fence = $3 and work_beat = $4))
      returning id, account_id as "accountId", engine, spark_config as "sparkConfig", pools, token, state,
                state_fence as fence`,
    [id, leaseSeconds, silent?.fence ?? null, silent?.beat ?? null],
  );
  return row;
}

/** False: it is not ours any more. */
export async function renew(
  system: Queryable,
  { id, fence }: { id: number; fence: number },
  leaseSeconds: number,
): Promise<boolean> {
  return changed(
    system,
    `update cluster set work_beat = work_beat + 1, worked_until = now() + make_interval(secs => $3)
      where id = $1 and state_fence = $2`,
    [id, fence, leaseSeconds],
  );
}

/** Another node may take it at once; nothing changes when it is not ours any more. */
export async function giveBack(system: Queryable, { id, fence }: { id: number; fence: number }): Promise<void> {
  await system.query("update cluster set worked_until = null where id = $1 and state_fence = $2", [id, fence]);
}

/** PENDING becomes UP, TERMINATING becomes DOWN. */
export async function finish(
  system: Queryable,
  { id, fence }: { id: number; fence: number },
  now: Date,
): Promise<boolean> {
  return changed(
    system,
    `update cluster set
       up_since = case state when 'PENDING' then $3::timestamptz end,
       state = case state when 'PENDING' then 'UP' else 'DOWN' end, start_failure = null, ${MOVE}
      where id = $1 and state_fence = $2 and state in ('PENDING', 'TERMINATING')`,
    [id, fence, now],
  );
}

export async function failStart(
  system: Queryable,
  { id, fence }: { id: number; fence: number },
  failure: string,
): Promise<boolean> {
  return changed(
    system,
    `update cluster set state = 'DOWN', start_failure = $3, start_failed_at = now(), ${MOVE}
      where id = $1 and state_fence = $2 and state = 'PENDING'`,
    [id, fence, failure],
  );
}

/** Everything that nodes are at or should be. */
export async function listWork(system: Queryable): Promise<SeenWork[]> {
  return system.query(
    `select id, state_fence as fence, work_beat as beat, worked_until is null as "isFree",
            concat_ws(' ', state_fence, work_beat, extract(epoch from worked_until)) as sign
       from cluster where state in ('PENDING', 'TERMINATING') order by id`,
  );
}

export interface IdleCluster {
  id: number;
  accountId: number;
  fence: number;
  upSince: Date;
  /** When the last of its commands that need it ended; null: none has since it is up. */
  lastEnd: Date | null;
  hours: number | null;
  seconds: number | null;
  accountHours: number;
  accountSeconds: number | null;
  countsSeconds: boolean;
}

/**
 * Those that are up with nothing waiting or running that needs them, by id; each costs two looks into an index, and one
 * for each command that has ended since without any need of it.
 */
export async function listIdle(system: Queryable, afterId: number, limit: number): Promise<IdleCluster[]> {
  return system.query(
    `select c.id, c.account_id as "accountId", c.state_fence as fence, c.up_since as "upSince",
            (select max(command.end_time) from command
              where command.cluster_id = c.id and command.end_time > c.up_since and command.needs_cluster) as "lastEnd",
            c.idle_cluster_timeout_hours as hours, c.idle_cluster_timeout_seconds as seconds,
            a.idle_cluster_timeout_hours as "accountHours", a.idle_cluster_timeout_seconds as "accountSeconds",
            'aggressive_downscaling' = any (a.features) as "countsSeconds"
       from cluster c join account a on a.id = c.account_id
      where c.state = 'UP' and c.id > $1
        and not exists (
          select from command where command.cluster_id = c.id and command.end_time is null and command.needs_cluster)
      order by c.id limit $2`,
    [afterId, limit],
  );
}

async function changed(db: Queryable, text: string, values: readonly unknown[]): Promise<boolean> {
  return (await db.query(`${text} returning id`, values)).length > 0;
}
