import type { Queryable } from "../../db/database.ts";

/** The warm servers of an app on one node. */
export interface AppServersOfNode {
  readonly appId: number;
  /** The lowest generation of the servers. */
  readonly generation: number;
  /** Whether one of the servers answers. */
  readonly isUp: boolean;
}

/** Replaces the previous report of the node. Stores nothing for deleted apps, and nothing before the node has a row. */
export async function reportAppServers(
  db: Queryable,
  nodeId: string,
  servers: readonly AppServersOfNode[],
): Promise<void> {
  await db.query(
    `with given as (
       select given.* from unnest($2::bigint[], $3::bigint[], $4::boolean[]) given (app_id, generation, is_up)
       join app on app.id = given.app_id
       where exists (select from node where node.id = $1)
     ), gone as (
       delete from app_server where node_id = $1 and app_id not in (select app_id from given)
     )
     insert into app_server (app_id, node_id, generation, is_up) select app_id, $1, generation, is_up from given
     on conflict (app_id, node_id) do update set generation = excluded.generation, is_up = excluded.is_up
     where (app_server.generation, app_server.is_up) is distinct from (excluded.generation, excluded.is_up)`,
    [
      nodeId,
      servers.map(({ appId }) => appId),
      servers.map(({ generation }) => generation),
      servers.map(({ isUp }) => isUp),
    ],
  );
}

/** By app. Deleted apps are missing. */
export async function readGenerations(db: Queryable, appIds: readonly number[]): Promise<Map<number, number>> {
  const rows = await db.query<{ id: number; generation: number }>(
    "select id, generation from app where id = any ($1)",
    [appIds],
  );
  return new Map(rows.map(({ id, generation }) => [id, generation]));
}

/** The given apps that are up on any node except those in `leftOut`. */
export async function listUpElsewhere(
  db: Queryable,
  appIds: readonly number[],
  leftOut: readonly string[],
): Promise<number[]> {
  const rows = await db.query<{ appId: number }>(
    `select distinct app_id as "appId" from app_server
     where app_id = any ($1) and is_up and node_id <> all ($2::uuid[])`,
    [appIds, leftOut],
  );
  return rows.map(({ appId }) => appId);
}

/** Whether any node except those in `leftOut` still has servers of the app that were started before its last stop. */
export async function isEndingElsewhere(db: Queryable, appId: number, leftOut: readonly string[]): Promise<boolean> {
  const [row] = await db.query<{ there: boolean }>(
    `select exists (
       select from app_server join app on app.id = app_server.app_id
       where app_id = $1 and app_server.generation < app.generation and node_id <> all ($2::uuid[])
     ) as there`,
    [appId, leftOut],
  );
  return row?.there ?? false;
}
