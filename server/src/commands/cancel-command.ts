import { Type, type Static } from "typebox";
import { operation } from "../access/operation.ts";
import { notFound } from "../lib/fault.ts";
import { Id, OneOf } from "../http/schema.ts";
import { CommandFields, commandObject, type WithCommandView } from "./command.ts";
import type { WithCommandEvents } from "./queue/command-events.ts";
import { findCommand, type CommandRow } from "./store/command-row.ts";
import { cancel } from "./store/queue.ts";

const CancelledCommand = Type.Object({
  ...CommandFields,
  kill_succeeded: Type.Boolean({ description: "Whether the cancel was accepted" }),
  result: Type.String({ description: "The outcome of the request, in words" }),
});

/** Cancels a command: one that waits ends at once, one that runs is ended by its node. A finished one stays as it is. */
export const cancelCommand = operation({
  id: "command_cancel",
  summary: "Cancel a command",
  tag: "Commands",
  method: "PUT",
  paths: { "v1.2": "/commands/:command_id" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "command:create" } },
  params: Type.Object({ command_id: Id }),
  body: Type.Object({ status: Type.Optional(OneOf(["kill"], { description: "An empty body means the same" })) }),
  example: { body: { status: "kill" } },
  reply: CancelledCommand,
  find: async ({ params, reader }) =>
    (await findCommand(reader, params.command_id)) ?? Promise.reject(notFound("Command", params.command_id)),

  async handle({ found, change }, { commandView, commandEvents }: WithCommandView & WithCommandEvents) {
    const reply = (row: CommandRow, cancelled: Cancelled): Static<typeof CancelledCommand> => ({
      ...commandObject(row, commandView),
      kill_succeeded: cancelled !== undefined,
      result: describeCancel(row, cancelled),
    });
    if (found.endTime !== null) return reply(found, undefined);
    const answer = await change(async (tx, audit) => {
      audit.object = `command/${found.id}`;
      const cancelled = await cancel(tx, found.id);
      return reply((await findCommand(tx, found.id)) ?? found, cancelled);
    });
    commandEvents.cancelled(found.id);
    return answer;
  },
});

/** The status that this request has set; undefined: the command had already ended. */
type Cancelled = Awaited<ReturnType<typeof cancel>>;

function describeCancel({ status, startTime }: CommandRow, cancelled: Cancelled): string {
  switch (cancelled) {
    case "cancelled":
      return startTime === null
        ? "the command was cancelled before it began"
        : "the command was cancelled while it waited for its next attempt";
    case "cancelling":
      return "the command is being cancelled";
    case undefined:
      return `the command has ended already: ${status}`;
  }
}
