import type { Queryable } from "../../db/database.ts";

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
