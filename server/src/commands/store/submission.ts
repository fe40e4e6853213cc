import type { Queryable, Tx } from "../../db/database.ts";
import { isNullViolation } from "../../db/store-fault.ts";
import { CONFIGURED_HEAP, COMMAND_COLUMNS, type CommandRow, type CommandType } from "./command-row.ts";

export interface NewCommand {
  userId: number;
  label: string;
  kind: string;
  commandType: CommandType;
  command: Readonly<Record<string, unknown>>;
  secrets: Buffer | null;
  options: Readonly<Record<string, unknown>> | null;
  name: string | null;
  template: string;
  pool: string | null;
  appId: number | null;
  lane: string;
  /** The memory that its own options ask for; 0: none. */
  statedMemoryMiB: number;
  timeoutSeconds: number | null;
  macros: string | null;
  resolvedMacros: string | null;
  canNotify: boolean;
  requestId: string;
  retry: number;
  retryDelayMinutes: number;
  tags: readonly string[];
  /** The text that runs, and the text before macros were filled in, if it differs. */
  source: { original: string | null; resolved: string } | null;
}

/** The reserved id of a new command, and the properties of its cluster and app. */
export interface ReservedCommand {
  /** The id that the command gets. */
  id: number;
  createdAt: Date;
  clusterId: number;
  clusterOwnerId: number | null;
  /** The engine of the cluster; a connect engine runs SQL only. */
  engineType: string;
  /** The heap that its app or else its cluster gives to drivers. */
  configuredHeap: string | null;
}

/**
 * `nextval` may write to the WAL. `synchronous_commit = off` avoids waiting for that flush; the commit of the insert
 * flushes it.
 */
const RESERVE_COMMAND = `
  select nextval(pg_get_serial_sequence('command', 'id')) as id, now() as "createdAt", l.cluster_id as "clusterId",
         cluster.owner_id as "clusterOwnerId",
         cluster.engine ->> 'type' as "engineType", ${CONFIGURED_HEAP} as "configuredHeap",
         set_config('synchronous_commit', 'off', true)
    from cluster_label l join cluster on cluster.id = l.cluster_id and cluster.account_id = l.account_id
    left join app on app.id = $3 and app.account_id = $1
   where l.account_id = $1 and l.label = $2 and ($3::bigint is null or app.id is not null)`;

/**
 * Reserves an id and reads the cluster and the app. Runs as the owner of the database and bypasses row-level security,
 * so it filters by account id; the insert checks the account again. Undefined: the account has no cluster with that
 * label, or no such app.
 */
export async function reserveCommand(
  system: Queryable,
  accountId: number,
  { label, appId }: Pick<NewCommand, "label" | "appId">,
): Promise<ReservedCommand | undefined> {
  const [row] = await system.query<ReservedCommand>(RESERVE_COMMAND, [accountId, label, appId]);
  return row;
}

/** The row is locked until the commit, so a concurrent deletion of the cluster waits and then finds the command. */
const LABELLED_CLUSTER = `
  select l.cluster_id, cluster.owner_id, cluster.engine ->> 'type' as engine_type, cluster.spark_config
    from cluster_label l join cluster on cluster.id = l.cluster_id
   where l.label = $2 for key share of l`;

const INSERT_COMMAND = `
  with target as (${LABELLED_CLUSTER}),
  used_app as (select id from app where id = $20 for key share),
  made as (
    insert into command (id, created_at, cluster_id, user_id, label, command_type, command, secrets, options, name,
      template, pool, timeout_seconds, macros, resolved_macros, can_notify, request_id, retry, retry_delay_minutes,
      app_id, lane, memory_mib, kind, is_masked) overriding system value
    values ($24, $25,
      (select cluster_id from target where cluster_id = $26 and ($20::bigint is null or exists (select from used_app))),
      $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $20, $21, $22, $23, true)
    returning id, created_at),
  tagged as (
    insert into command_tag (command_id, tag, created_at)
    select made.id, tag, made.created_at from made, unnest($17::text[]) tag)
  insert into command_source_text (command_id, original, resolved)
  select made.id, $18, $19 from made where $19::text is not null`;

/**
 * Inserts the row, its tags and its text, without a round trip of its own. If the label was moved or removed or the app
 * was deleted since `reserveCommand`, the row has no cluster and the transaction fails: `isTargetChanged`.
 */
export function insertCommand(tx: Tx, given: NewCommand, { id, clusterId, createdAt }: ReservedCommand): void {
  tx.send(INSERT_COMMAND, [
    given.userId,
    given.label,
    given.commandType,
    JSON.stringify(given.command),
    given.secrets,
    given.options === null ? null : JSON.stringify(given.options),
    given.name,
    given.template,
    given.pool,
    given.timeoutSeconds,
    given.macros,
    given.resolvedMacros,
    given.canNotify,
    given.requestId,
    given.retry,
    given.retryDelayMinutes,
    [...given.tags],
    given.source?.original ?? null,
    given.source?.resolved ?? null,
    given.appId,
    given.lane,
    given.statedMemoryMiB,
    given.kind,
    id,
    createdAt,
    clusterId,
  ]);
}

/** Whether `insertCommand` failed because the label was moved or removed, or the app was deleted. */
export function isTargetChanged(error: unknown): boolean {
  return isNullViolation(error, "cluster_id");
}

/** The text that runs, with its macros filled in; null: the command has none. */
export async function findProgramText(reader: Queryable, id: number): Promise<string | null> {
  const [row] = await reader.query<{ resolved: string }>(
    "select resolved from command_source_text where command_id = $1",
    [id],
  );
  return row?.resolved ?? null;
}

export async function hasLabel(reader: Queryable, label: string): Promise<boolean> {
  return (await reader.query("select from cluster_label where label = $1", [label])).length > 0;
}

type RerunCommand = CommandRow & Pick<ReservedCommand, "clusterOwnerId" | "engineType" | "configuredHeap">;

/**
 * Inserts the same command again, with its text and macro values. The label is looked up again. Undefined: no cluster
 * has the label any more, or the app was deleted.
 */
export async function insertRerun(
  tx: Tx,
  rerun: {
    commandId: number;
    userId: number;
    requestId: string;
    label: string;
    kind: string;
    lane: string;
    statedMemoryMiB: number;
  },
): Promise<RerunCommand | undefined> {
  const [row] = await tx.query<RerunCommand>(
    `with target as (${LABELLED_CLUSTER}),
     earlier as (select * from command where id = $1),
     used_app as (select id, config from app where id = (select app_id from earlier) for key share),
     c as (
       insert into command (user_id, label, cluster_id, command_type, command, secrets, options, name, template, pool,
         app_id, timeout_seconds, macros, resolved_macros, can_notify, request_id, retry, retry_delay_minutes,
         lane, memory_mib, kind, is_masked)
       select $3, e.label, target.cluster_id, e.command_type, e.command, e.secrets, e.options, e.name, e.template, e.pool,
              e.app_id, e.timeout_seconds, e.macros, e.resolved_macros, e.can_notify, $4, e.retry,
              e.retry_delay_minutes, $5, $6, $7, e.is_masked
         from earlier e, target where e.app_id is null or exists (select from used_app)
       returning *),
     tagged as (
       insert into command_tag (command_id, tag, created_at)
       select c.id, t.tag, c.created_at from c, command_tag t where t.command_id = $1),
     sourced as (
       insert into command_source_text (command_id, original, resolved)
       select c.id, s.original, s.resolved from c, command_source_text s where s.command_id = $1)
     select ${COMMAND_COLUMNS}, owner_id as "clusterOwnerId", engine_type as "engineType",
            ${CONFIGURED_HEAP} as "configuredHeap"
       from c, target cluster left join used_app app on true`,
    [rerun.commandId, rerun.label, rerun.userId, rerun.requestId, rerun.lane, rerun.statedMemoryMiB, rerun.kind],
  );
  return row;
}
