/**
 * The SQL of the state changes. Each statement is one transition and names the state it leaves. So only one of several
 * concurrent callers makes it, and if a start and an end cross, the later one wins.
 *
 * | from | by | to |
 * |---|---|---|
 * | DOWN | `beginStart`, `beginUse`: a user, a command | PENDING |
 * | PENDING | `finish`: it has started | UP |
 * | PENDING | `failStart`: it cannot be started | DOWN, with the reason |
 * | PENDING, UP | `beginEnd`, `beginIdleEnd`: a user, the idle rule | TERMINATING |
 * | TERMINATING | `finish`: all its processes have ended | DOWN |
 *
 * PENDING and TERMINATING need work. A node takes it by `takeWork` and increments `work_beat` meanwhile; another node
 * takes it over after observing no new beat for some seconds. (`worked_until` only shows whether a node has the work,
 * and serves nodes of an earlier version.) Every change increments the fence, and a node's writes carry the fence it
 * took: zero rows mean that the work is no longer its own.
 */
import type { Queryable, Tx } from "../../db/database.ts";
import type { ClusterSettings } from "../cluster-settings.ts";
import type { ClusterState } from "./cluster.ts";

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
  /** This call has started it. */
  hasBegun: boolean;
}

/** Starts those that are DOWN, but not soon after a failed start. Deleted clusters are not returned. */
export function beginUse(system: Queryable, ids: readonly number[], retrySeconds: number): Promise<UsedCluster[]> {
  return system.query(
    `with startable as (
       select id from cluster
        where id = any($1) and deleted_at is null and state = 'DOWN'
          -- A time in the future was written before the clock was set back.
          and (start_failure is null or start_failed_at not between now() - make_interval(secs => $2) and now())
        order by id for update), -- the same order on all nodes prevents deadlocks
     begun as (
       update cluster set state = 'PENDING', ${MOVE} where id in (select id from startable) returning id, state)
     select id, start_failure as "startFailure", begun.id is not null as "hasBegun",
            -- Seen DOWN, startable, but not started here: another node was faster.
            case when cluster.state = 'DOWN' and start_failure is null then 'PENDING'
                 else coalesce(begun.state, cluster.state) end as state
       from cluster left join begun using (id)
      where id = any($1) and deleted_at is null`,
    [ids, retrySeconds],
  );
}

export async function beginEnd(tx: Tx, id: number): Promise<boolean> {
  return changed(
    tx,
    `update cluster set state = 'TERMINATING', up_since = null, ${MOVE} where id = $1 and state in ('PENDING', 'UP')`,
    [id],
  );
}

/** Only if it has not changed since it was read, and is still idle. */
export async function beginIdleEnd(
  tx: Tx,
  { id, accountId, fence }: { id: number; accountId: number; fence: number },
): Promise<boolean> {
  // The queue's lock: the next statement sees commands that were claimed meanwhile.
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

/** Work as it was read, to find out later whether it has changed. */
export interface SeenWork {
  readonly id: number;
  readonly fence: number;
  readonly beat: number;
  /** Changes with every beat, including those of earlier versions. */
  readonly sign: string;
  /** No node has taken it. */
  readonly isFree: boolean;
}

/** Undefined: a live node works on it, or it is done. `silent`: the work as it was read when its node seemed dead. */
export async function takeWork(
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

/** False: another node has taken the work. */
export async function renewLease(
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

/** Lets another node take the work at once. Without effect if one already has. */
export async function releaseWork(system: Queryable, { id, fence }: { id: number; fence: number }): Promise<void> {
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

/** All state changes that nodes carry out or should carry out. */
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
  /** When the last command that needed the cluster ended; null: none since it is up. */
  lastEnd: Date | null;
  hours: number | null;
  seconds: number | null;
  accountHours: number;
  accountSeconds: number | null;
  countsSeconds: boolean;
}

/**
 * Clusters that are UP without a waiting or running command that needs them, by id. Each costs two index lookups, and
 * one more for each command that has ended since without needing the cluster.
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
