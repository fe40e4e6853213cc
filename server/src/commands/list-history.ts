import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Moment, parseMoment, type GivenMoment } from "../http/moment.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { Id } from "../http/schema.ts";
import { DAY_MS, type Clock } from "../lib/clock.ts";
import { invalid } from "../lib/fault.ts";
import { Command, commandObject, queryProperties, type WithCommandView } from "./command.ts";
import { hasCommand, listHistory as selectHistory, type HistoryFilter } from "./store/history.ts";
import { COMMAND_STATUSES, type CommandStatus } from "./store/command-row.ts";
import { READ_COMMANDS } from "./view-command.ts";

const commaList = (description: string) =>
  Type.Optional(
    Type.String({ maxLength: 4096, description: `${description}; a comma-separated list matches any of its entries` }),
  );

/** §4.6. A date without time is the whole day. */
export const listHistory = operation({
  id: "command_list",
  summary: "View the command history",
  description: "Newest first. By default the caller's own commands of the last 30 days.",
  tag: "Commands",
  method: "GET",
  paths: { v1: "/commands", "v1.2": "/commands" },
  access: { permission: READ_COMMANDS },
  query: Type.Object({
    ...PageQuery,
    after: Type.Optional(
      Type.Integer({
        ...Id,
        description:
          "The id of the last command of the previous list: this list continues after it. Pages count from there.",
      }),
    ),
    all_users: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1, default: 0, description: "1: commands of all users" }),
    ),
    include_query_properties: Type.Optional(
      Type.Boolean({ default: false, description: "Adds tags, macros and comments" }),
    ),
    start_date: Moment("Inclusive; default 30 days before end_date", "2026-01-01"),
    end_date: Moment("Inclusive; default today", "2026-12-31"),
    command_type: commaList("SparkCommand, HadoopCommand, HiveCommand"),
    status: commaList("A status; also success and failed"),
    name: commaList("The whole name"),
    label: commaList("Label of the cluster"),
    cluster_label: commaList("The same as label"),
    tags: commaList("A tag"),
    user_id: commaList("Id of the user who submitted it"),
    command_id: commaList("Id of the command"),
    command_source: commaList("Origin, such as API"),
  }),
  reply: Type.Object({ paging_info: PagingInfo, commands: Type.Array(Command) }),

  async handle({ query, caller, reader, patientReader }, { clock, commandView }: WithCommandView & { clock: Clock }) {
    const page = pageOf(query);
    const afterId = query.after ?? null;
    const rows = await selectHistory(patientReader(), {
      ...historyWindow(query.start_date, query.end_date, clock.now()),
      ownerId: query.all_users === 1 ? null : caller.userId,
      filter: historyFilter(query),
      afterId,
      ...page,
    });
    // An unknown command is an error: an empty list would look like the end of the history.
    if (rows.length === 0 && afterId !== null && !(await hasCommand(reader, afterId))) {
      throw invalid("after", `names no command of the account: ${afterId}`);
    }
    return {
      paging_info: pagingInfo(page, rows),
      commands: shownRows(page, rows).map((row) => ({
        ...commandObject(row, commandView),
        ...(query.include_query_properties === true ? queryProperties(row, row.tags) : {}),
      })),
    };
  },
});

/** The filters of a request. Each is a comma-separated list. */
interface FilterInput {
  command_type?: string;
  status?: string;
  name?: string;
  label?: string;
  cluster_label?: string;
  tags?: string;
  user_id?: string;
  command_id?: string;
  command_source?: string;
}

/** The statuses, and the words for them that clients of the original interface use. */
const STATUS_WORDS: Readonly<Record<string, readonly CommandStatus[] | undefined>> = {
  ...Object.fromEntries(COMMAND_STATUSES.map((status) => [status, [status]])),
  success: ["done"],
  failed: ["error"],
};

function historyFilter(input: FilterInput): HistoryFilter {
  if (input.label !== undefined && input.cluster_label !== undefined && input.label !== input.cluster_label) {
    throw invalid("cluster_label", "must be the same as label when both are given");
  }
  return {
    commandTypes: list(input.command_type),
    statuses: list(input.status)?.flatMap(statusesOf),
    names: list(input.name),
    labels: list(input.label ?? input.cluster_label),
    tags: list(input.tags),
    userIds: list(input.user_id)?.map((text) => idOf("user_id", text)),
    commandIds: list(input.command_id)?.map((text) => idOf("command_id", text)),
    commandSources: list(input.command_source),
  };
}

/** An empty list is no filter. */
function list(text: string | undefined): string[] | undefined {
  const parts = (text ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return parts.length === 0 ? undefined : [...new Set(parts)];
}

function statusesOf(word: string): readonly CommandStatus[] {
  const statuses = Object.hasOwn(STATUS_WORDS, word) ? STATUS_WORDS[word] : undefined;
  if (statuses === undefined) throw invalid("status", `must be one of ${Object.keys(STATUS_WORDS).join(", ")}`);
  return statuses;
}

function idOf(field: string, text: string): number {
  const id = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw invalid(field, "must be an id or a comma-separated list of ids");
  return id;
}

/** The time a history covers, from `start` to before `end`. */
interface HistoryWindow {
  start: Date;
  end: Date;
}

const WINDOW_DAYS = 30;

/** §4.6: both ends inclusive; without a start 30 days before the end, without an end today. */
function historyWindow(startDate: string | undefined, endDate: string | undefined, now: Date): HistoryWindow {
  const end = endDate === undefined ? today(now) : parseMoment("end_date", endDate);
  const start = startDate === undefined ? end.from - WINDOW_DAYS * DAY_MS : parseMoment("start_date", startDate).from;
  const window = { start: new Date(start), end: new Date(end.from + end.lengthMs) };
  if (start >= window.end.getTime()) throw invalid("start_date", "must not be after end_date");
  return window;
}

function today(now: Date): GivenMoment {
  return { from: Math.floor(now.getTime() / DAY_MS) * DAY_MS, lengthMs: DAY_MS };
}
