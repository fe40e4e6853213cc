import type { Queryable, Tx } from "../db/database.ts";
import type { SparkConfig } from "../engines/spark-submit/spark-config.ts";

export interface AppRow {
  id: number;
  name: string;
  config: SparkConfig;
  kind: "spark";
  createdAt: Date;
  /** The number of stops. */
  generation: number;
}

const COLUMNS = `id, name, config, kind, created_at as "createdAt", generation`;

export async function listApps(
  reader: Queryable,
  page: { limit: number; offset: number; idsAfter: number },
): Promise<AppRow[]> {
  return reader.query(`select ${COLUMNS} from app where id > $3 order by id limit $1 offset $2`, [
    page.limit,
    page.offset,
    page.idsAfter,
  ]);
}

export async function findApp(reader: Queryable, id: number): Promise<AppRow | undefined> {
  const [row] = await reader.query<AppRow>(`select ${COLUMNS} from app where id = $1`, [id]);
  return row;
}

export async function countApps(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ apps: number }>("select count(*) as apps from app");
  return row?.apps ?? 0;
}

export async function insertApp(tx: Tx, name: string, config: SparkConfig): Promise<AppRow> {
  const [row] = await tx.query<AppRow>(`insert into app (name, config) values ($1, $2) returning ${COLUMNS}`, [
    name,
    JSON.stringify(config),
  ]);
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}

/** Makes every node end the servers and standby drivers that it has started for the app. False: the app was deleted. */
export async function raiseGeneration(tx: Tx, id: number): Promise<boolean> {
  return (await tx.query("update app set generation = generation + 1 where id = $1 returning id", [id])).length > 0;
}

/** A submission locks the row of its app until its command is committed. False: the app is already deleted. */
export async function deleteApp(tx: Tx, id: number): Promise<boolean> {
  return (await tx.query("delete from app where id = $1 returning id", [id])).length > 0;
}

/** Whether a command that uses it is waiting or running. */
export async function isInUse(tx: Tx, id: number): Promise<boolean> {
  const [row] = await tx.query<{ there: boolean }>(
    "select exists (select from command where app_id = $1 and end_time is null) as there",
    [id],
  );
  return row?.there ?? false;
}
