import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { Id } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { invalid } from "../lib/fault.ts";
import { Command, commandObject, queryProperties, type WithCommandView } from "./command.ts";
import { historyFilter } from "./history-filter.ts";
import { historyWindow } from "./history-window.ts";
import { hasCommand, listHistory as selectHistory } from "./store/history.ts";

const commaList = (description: string) =>
  Type.Optional(
    Type.String({ maxLength: 4096, description: `${description}; a comma-separated list matches any of its entries` }),
  );
const moment = (description: string, example: string) =>
  Type.Optional(
    Type.String({
      maxLength: 32,
      description: `${description}: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ`,
      examples: [example],
    }),
  );

/** §4.6. A date without time is the whole day. */
export const listHistory = operation({
  id: "command_list",
  summary: "View the command history",
  description: "Newest first. By default the caller's own commands of the last 30 days.",
  tag: "Commands",
  method: "GET",
  paths: { v1: "/commands", "v1.2": "/commands" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "command:read" } },
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
    start_date: moment("Inclusive; default 30 days before end_date", "2026-01-01"),
    end_date: moment("Inclusive; default today", "2026-12-31"),
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
      throw invalid("after", "must be the id of a command of the account");
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
