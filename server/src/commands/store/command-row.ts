import type { Queryable } from "../../db/database.ts";

export const COMMAND_STATUSES = ["waiting", "running", "cancelling", "done", "error", "cancelled"] as const;
export type CommandStatus = (typeof COMMAND_STATUSES)[number];

export const COMMAND_TYPES = ["SparkCommand", "HadoopCommand", "HiveCommand"] as const;
export type CommandType = (typeof COMMAND_TYPES)[number];

/** The submitted part of a command. */
export interface SubmittedCommand {
  readonly commandType: string;
  /** The `command` object of §2.2. */
  readonly command: Readonly<Record<string, unknown>>;
  /** Options of the run that are not part of the `command` object; null: none. */
  readonly options: Readonly<Record<string, unknown>> | null;
}

export interface StoredCommand extends SubmittedCommand {
  /** Null: an older version has stored it without its kind. */
  readonly kind: string | null;
}

/** The part of a command that decides how it runs. */
export interface RunnableCommand extends StoredCommand {
  readonly id: number;
  readonly accountId: number;
  readonly clusterId: number;
  /** Null: it belongs to no app. */
  readonly appId: number | null;
  /** Null: the default pool of the cluster. */
  readonly pool: string | null;
  /** JSON: the values of its macros. */
  readonly resolvedMacros: string | null;
  /** The memory that its own options ask for, determined at submission; 0 or absent: they ask for none. */
  readonly statedMemoryMiB?: number;
  /** The driver heap that its app, or else its cluster, configures, as written there; null or absent: neither does. */
  readonly configuredHeap?: string | null;
}

/** A command as the API shows it. */
export interface CommandRow {
  id: number;
  accountId: number;
  userId: number;
  clusterId: number;
  appId: number | null;
  label: string;
  /** The lane of the queue in which it waits. */
  lane: string;
  kind: string | null;
  commandType: CommandType;
  /** The `command` object of §2.2, secrets masked. */
  command: Readonly<Record<string, unknown>>;
  /** Options of the run; not part of the API. */
  options: Readonly<Record<string, unknown>> | null;
  name: string | null;
  template: string;
  pool: string | null;
  timeoutSeconds: number | null;
  /** JSON, as submitted. */
  macros: string | null;
  /** JSON: an array with one object for each macro. */
  resolvedMacros: string | null;
  canNotify: boolean;
  commandSource: string;
  status: CommandStatus;
  progress: number;
  createdAt: Date;
  startTime: Date | null;
  endTime: Date | null;
  pid: number | null;
  qlog: string | null;
  numResultDir: number;
  /** When a command between two attempts may be claimed again. Absent in a command that was just submitted. */
  nextAttemptAt?: Date | null;
  /** The only node that may run its next attempt; null or absent: any. */
  onlyNodeId?: string | null;
}

/** For `select … from command c`. */
export const COMMAND_COLUMNS = `
  c.id, c.account_id as "accountId", c.user_id as "userId", c.cluster_id as "clusterId", c.app_id as "appId", c.label,
  c.lane, c.kind, c.command_type as "commandType", c.command, c.options, c.name, c.template, c.pool, c.timeout_seconds as "timeoutSeconds",
  c.macros, c.resolved_macros as "resolvedMacros", c.can_notify as "canNotify", c.command_source as "commandSource",
  c.status, c.progress, c.created_at as "createdAt", c.start_time as "startTime", c.end_time as "endTime", c.pid, c.qlog,
  c.num_result_dir as "numResultDir",
  case when c.status = 'running' and c.node_id is null then c.due_at end as "nextAttemptAt",
  c.only_node_id as "onlyNodeId"`;

/**
 * A `StoredCommand`, for `select … from command c`. Its `command` has only the fields that decide the kind where none is
 * stored: a program may be long.
 */
export const COMMAND_KIND = `
  c.kind, c.command_type as "commandType", c.options,
  case when c.kind is null then (
    select json_build_object('language', language, 'script_location', script_location, 'sql', left(sql, 1))
    from json_to_record(c.command) given (language text, script_location text, sql text)
  ) else '{}' end as command`;

export function hasEnded(status: CommandStatus): boolean {
  return status === "done" || status === "error" || status === "cancelled";
}

/** The heap that the configuration of an app or else of a cluster gives to drivers; null: neither does. */
export const CONFIGURED_HEAP =
  "coalesce(app.config ->> 'spark.driver.memory', cluster.spark_config ->> 'spark.driver.memory')";

export async function findCommand(reader: Queryable, id: number): Promise<CommandRow | undefined> {
  const [row] = await reader.query<CommandRow>(`select ${COMMAND_COLUMNS} from command c where c.id = $1`, [id]);
  return row;
}

export interface ViewedCommand extends CommandRow {
  tags: string[];
  /** Why its results or logs could not be published; null: they are published, or it was not tried yet. */
  publishFailure: string | null;
}

export async function findViewedCommand(reader: Queryable, id: number): Promise<ViewedCommand | undefined> {
  const [row] = await reader.query<ViewedCommand>(
    `select ${COMMAND_COLUMNS}, array(select t.tag from command_tag t where t.command_id = c.id order by t.tag) as tags,
            (select p.failure from command_publishing p where p.command_id = c.id and p.failure is not null
              order by p.attempt desc limit 1) as "publishFailure"
       from command c where c.id = $1`,
    [id],
  );
  return row;
}
