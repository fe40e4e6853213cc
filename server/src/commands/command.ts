/**
 * The command object of §2.2, the same for every type: what differs by type is inside `command`.
 *
 * | status | becomes |
 * |---|---|
 * | `waiting` | `running`, `cancelling`, or `error` when it cannot run |
 * | `running` | `done`, `error`, `cancelling`; between two attempts it stays `running`, without a pid |
 * | `cancelling` | `cancelled` |
 * | `done`, `error`, `cancelled` | nothing: these are final |
 */
import { Type, type Static } from "typebox";
import { Id, Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import type { WaitingReason } from "./queue/waiting-reason.ts";
import { COMMAND_STATUSES, COMMAND_TYPES, type CommandRow } from "./store/command-row.ts";

const commandFields = {
  id: Id,
  uid: Type.Integer({ description: "The same as user_id" }),
  account_id: Type.Integer(),
  user_id: Type.Integer({ description: "The user who submitted it" }),
  status: OneOf(COMMAND_STATUSES),
  progress: Type.Integer({ description: "Percent; it never falls, and is 100 when done" }),
  command_type: OneOf(COMMAND_TYPES),
  command: Type.Unsafe<Readonly<Record<string, unknown>>>(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description: "The submitted fields, which depend on command_type; unset fields are null",
      },
    ),
  ),
  created_at: Timestamp,
  submit_time: Type.Integer({ description: "Seconds since 1970" }),
  start_time: commandTime("Null until it runs"),
  end_time: commandTime("Null until it has ended"),
  path: Type.String(),
  meta_data: Type.Object({ logs_resource: Type.String(), results_resource: Type.String() }),
  svc_session_id: Nullable(Type.Integer()),
  qlog: Nullable(Type.String({ description: "JSON: the columns of the result" })),
  resolved_macros: Nullable(Type.String({ description: "JSON: the values of the macros, in the order of submission" })),
  label: Type.String({ description: "Label of the cluster" }),
  name: Nullable(Type.String()),
  pool: Nullable(Type.String()),
  timeout: Nullable(Type.Integer({ description: "Seconds, as submitted; null: 129600" })),
  template: Type.String(),
  command_source: Type.String({ examples: ["API"] }),
  can_notify: Type.Boolean(),
  num_result_dir: Type.Integer({ description: "0 until there are results" }),
  pid: Nullable(Type.Integer({ description: "Process id of the driver while it runs" })),
  saved_query_mutable_id: Nullable(Type.Integer()),
  publish_error: Type.Optional(
    Type.String({
      description: "Why its results and logs are not in the account's storage yet; only when one command is viewed",
    }),
  ),
  waiting_reason: Type.Optional(
    Type.String({ description: "Why it waits; only while it waits, also between two attempts" }),
  ),
  tags: Type.Optional(Type.Array(Type.String(), { description: "With include_query_properties" })),
  macros: Type.Optional(
    Type.Array(Type.Object({}, { additionalProperties: true }), { description: "With include_query_properties" }),
  ),
  comments: Type.Optional(Type.Array(Type.String(), { description: "With include_query_properties" })),
};

export const Command = Type.Object(commandFields, { title: "Command" });
/** For replies that add fields to a command. */
export const CommandFields = commandFields;

/** The formats of `start_time` and `end_time`, chosen by HEADGATE_COMMAND_TIMES. */
const COMMAND_TIMES = ["iso", "epoch"] as const;
export type CommandTimes = (typeof COMMAND_TIMES)[number];

export interface CommandView {
  commandTimes: CommandTimes;
  waitingReason: WaitingReason;
}

/** For handlers that reply with commands. */
export interface WithCommandView {
  commandView: CommandView;
}

export function commandObject(row: CommandRow, { commandTimes, waitingReason }: CommandView): Static<typeof Command> {
  const time = (at: Date | null) => {
    if (at === null) return null;
    return commandTimes === "iso" ? isoSeconds(at) : epochSeconds(at);
  };
  return {
    id: row.id,
    uid: row.userId,
    account_id: row.accountId,
    user_id: row.userId,
    status: row.status,
    progress: row.progress,
    command_type: row.commandType,
    command: row.command,
    created_at: isoSeconds(row.createdAt),
    submit_time: epochSeconds(row.createdAt),
    start_time: time(row.startTime),
    end_time: time(row.endTime),
    path: `/tmp/${row.createdAt.toISOString().slice(0, 10)}/${row.accountId}/${row.id}`,
    meta_data: { logs_resource: `commands/${row.id}/logs`, results_resource: `commands/${row.id}/results` },
    svc_session_id: null,
    qlog: row.qlog,
    resolved_macros: row.resolvedMacros,
    label: row.label,
    name: row.name,
    pool: row.pool,
    timeout: row.timeoutSeconds,
    template: row.template,
    command_source: row.commandSource,
    can_notify: row.canNotify,
    num_result_dir: row.numResultDir,
    pid: row.pid,
    saved_query_mutable_id: null,
    ...(isWaiting(row) ? { waiting_reason: waitingReason(row) } : {}),
  };
}

function isWaiting({ status, nextAttemptAt = null }: CommandRow): boolean {
  return status === "waiting" || (status === "running" && nextAttemptAt !== null);
}

/** The fields that `include_query_properties` adds. There are no comments on commands yet. */
export function queryProperties(row: CommandRow, tags: readonly string[]) {
  return { tags: [...tags], macros: submittedMacros(row.macros), comments: [] };
}

function submittedMacros(json: string | null): Record<string, unknown>[] {
  // Written by a submission, which accepts only an array of objects.
  return json === null ? [] : (JSON.parse(json) as Record<string, unknown>[]);
}

function epochSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}

function commandTime(description: string) {
  return Type.Unsafe<string | number | null>({
    type: ["string", "integer", "null"],
    description: `${description}. UTC as YYYY-MM-DDTHH:MM:SSZ, or seconds since 1970 where HEADGATE_COMMAND_TIMES is epoch`,
  });
}
