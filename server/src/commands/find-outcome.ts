import type { Queryable } from "../db/database.ts";
import { notFound } from "../lib/fault.ts";
import { findOutcome, type CommandOutcome } from "./store/outcome.ts";

/** A user who may read the history may read the logs and results of every command of the account. */
export const READ_COMMANDS = { groups: ["system-user", "system-admin"], role: "command:read" } as const;

export async function findCommandOutcome({
  params,
  reader,
}: {
  params: { command_id: number };
  reader: Queryable;
}): Promise<CommandOutcome> {
  const outcome = await findOutcome(reader, params.command_id);
  if (outcome === undefined) throw notFound();
  return outcome;
}
