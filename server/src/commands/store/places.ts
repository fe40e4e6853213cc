import type { Queryable } from "../../db/database.ts";

interface Place {
  readonly clusterId: number;
  readonly appId: number | null;
}

/** Those where nothing may wait any more: their cluster is down or going down, or it or their app is deleted. */
export function listEndedPlaces(system: Queryable, places: readonly Place[]): Promise<Place[]> {
  return system.query(
    `select cluster_id as "clusterId", app_id as "appId"
       from unnest($1::bigint[], $2::bigint[]) as place (cluster_id, app_id)
      where not exists (
              select from cluster where id = cluster_id and deleted_at is null and state in ('PENDING', 'UP'))
         or (app_id is not null and not exists (select from app where id = app_id))`,
    [places.map(({ clusterId }) => clusterId), places.map(({ appId }) => appId)],
  );
}
