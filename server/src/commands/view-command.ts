import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { notFound } from "../lib/fault.ts";
import { Id } from "../http/schema.ts";
import { Command, commandObject, queryProperties, type WithCommandView } from "./command.ts";
import type { WithCommandEvents } from "./queue/command-events.ts";
import { findViewedCommand, hasEnded } from "./store/command-row.ts";
import type { Queryable } from "../db/database.ts";
import { findOutcome, type CommandOutcome } from "./store/outcome.ts";

export const CommandParams = Type.Object({ command_id: Id });

/** At most a minute, because many proxies close connections then. */
export const WaitSeconds = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 60,
    description:
      "Waits for the command to end, for at most this many seconds, before it answers. Returns at once if too many requests are already waiting",
  }),
);

/** A user who may read the history may read every command of the account, with its logs and results. */
export const READ_COMMANDS = { groups: ["system-user", "system-admin"], role: "command:read" } as const;

export const viewCommand = operation({
  id: "command_view",
  summary: "View a command",
  tag: "Commands",
  method: "GET",
  paths: { "v1.2": "/commands/:command_id" },
  access: { permission: READ_COMMANDS },
  params: CommandParams,
  query: Type.Object({
    include_query_properties: Type.Optional(Type.Boolean({ description: "Adds tags, macros and comments" })),
    wait_seconds: WaitSeconds,
  }),
  reply: Command,

  async find({ params, reader }) {
    const row = await findViewedCommand(reader, params.command_id);
    if (row === undefined) throw notFound("Command", params.command_id);
    return row;
  },

  async handle({ query, reader, found, takeSlot, endingSignal }, services: WithCommandView & WithCommandEvents) {
    const { wait_seconds: waitSeconds = 0, include_query_properties: withProperties = false } = query;
    let row = found;
    if (waitSeconds > 0 && !hasEnded(row.status) && takeSlot("wait")) {
      await services.commandEvents.ended(row.id, waitSeconds * 1000, endingSignal());
      row = (await findViewedCommand(reader, row.id)) ?? row;
    }
    return {
      ...commandObject(row, services.commandView),
      ...(row.publishFailure === null ? {} : { publish_error: row.publishFailure }),
      ...(withProperties ? queryProperties(row, row.tags) : {}),
    };
  },
});

export async function findCommandOutcome({
  params,
  reader,
}: {
  params: { command_id: number };
  reader: Queryable;
}): Promise<CommandOutcome> {
  const outcome = await findOutcome(reader, params.command_id);
  if (outcome === undefined) throw notFound("Command", params.command_id);
  return outcome;
}
