import type { Queryable, Tx } from "../../db/database.ts";
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

export interface InsertedCommand {
  id: number;
  clusterId: number;
  createdAt: Date;
  /** The engine of the cluster; a connect engine runs SQL only. */
  engineType: string;
  /** The heap that its app or else its cluster gives to drivers. */
  configuredHeap: string | null;
}

/** The row is locked until the commit, so a concurrent deletion of the cluster waits and then finds the command. */
const TARGET = `
  select l.cluster_id, cluster.engine ->> 'type' as engine_type, cluster.spark_config
    from cluster_label l join cluster on cluster.id = l.cluster_id
   where l.label = $2 for key share of l`;

/** Inserts the row, its tags and its text. Undefined: the account has no cluster with that label, or no such app. */
export async function insertCommand(tx: Tx, given: NewCommand): Promise<InsertedCommand | undefined> {
  const [row] = await tx.query<InsertedCommand>(
    `with target as (${TARGET}),
     used_app as (select id, config from app where id = $20 for key share),
     made as (
       insert into command (user_id, label, cluster_id, command_type, command, secrets, options, name, template, pool,
         timeout_seconds, macros, resolved_macros, can_notify, request_id, retry, retry_delay_minutes, app_id, lane,
         memory_mib, kind, is_masked)
       select $1, $2, cluster_id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $20, $21, $22, $23, true
         from target
        where $20::bigint is null or exists (select from used_app)
       returning id, cluster_id, created_at),
     tagged as (
       insert into command_tag (command_id, tag, created_at)
       select made.id, tag, made.created_at from made, unnest($17::text[]) tag),
     sourced as (
       insert into command_source_text (command_id, original, resolved)
       select made.id, $18, $19 from made where $19::text is not null)
     select made.id, made.cluster_id as "clusterId", created_at as "createdAt", engine_type as "engineType",
            ${CONFIGURED_HEAP} as "configuredHeap"
       from made, target cluster left join used_app app on true`,
    [
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
    ],
  );
  return row;
}

/** The text that runs, with its macros filled in; null: the command has none. */
export async function findProgramText(reader: Queryable, id: number): Promise<string | null> {
  const [row] = await reader.query<{ resolved: string }>(
    "select resolved from command_source_text where command_id = $1",
    [id],
  );
  return row?.resolved ?? null;
}

export async function hasLabel(tx: Tx, label: string): Promise<boolean> {
  return (await tx.query("select from cluster_label where label = $1", [label])).length > 0;
}

/**
 * Inserts the same command again, with its text and macro values. The label is looked up again. Undefined: no cluster has
 * the label any more, or the app was deleted.
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
): Promise<(CommandRow & Pick<InsertedCommand, "engineType" | "configuredHeap">) | undefined> {
  const [row] = await tx.query<CommandRow & Pick<InsertedCommand, "engineType" | "configuredHeap">>(
    `with target as (${TARGET}),
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
     select ${COMMAND_COLUMNS}, engine_type as "engineType", ${CONFIGURED_HEAP} as "configuredHeap"
       from c, target cluster left join used_app app on true`,
    [rerun.commandId, rerun.label, rerun.userId, rerun.requestId, rerun.lane, rerun.statedMemoryMiB, rerun.kind],
  );
  return row;
}
