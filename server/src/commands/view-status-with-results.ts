import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Id, Nullable, OneOf } from "../http/schema.ts";
import { StreamReply } from "../http/stream-reply.ts";
import { resultText, type WithCommandFiles } from "./command-text.ts";
import type { WithCommandEvents } from "./command-events.ts";
import { findCommandOutcome, READ_COMMANDS } from "./find-outcome.ts";
import { COMMAND_STATUSES, hasEnded } from "./store/command-row.ts";
import { findOutcome, type CommandOutcome } from "./store/outcome.ts";
import { streamedJson } from "./streamed-json.ts";
import { CommandParams, WaitSeconds } from "./view-command.ts";
import { INLINE_LIMIT_BYTES } from "./view-results.ts";

const StatusWithResults = Type.Object({
  id: Id,
  status: OneOf(COMMAND_STATUSES),
  progress: Type.Integer(),
  error: Nullable(Type.String({ description: "Why it has failed" })),
  inline: Nullable(Type.Boolean({ description: "Null: there are no results. False: ask for them by results" })),
  results: Nullable(Type.String()),
});

/** All that a client polls for in one reply. */
export const viewStatusWithResults = operation({
  id: "command_status_with_results",
  summary: "View the status of a command with its results",
  tag: "Commands",
  method: "GET",
  paths: { "v1.2": "/commands/:command_id/status_with_results" },
  access: { permission: READ_COMMANDS },
  params: CommandParams,
  query: Type.Object({ wait_seconds: WaitSeconds }),
  reply: StatusWithResults,
  find: findCommandOutcome,

  async handle({ found, query, reader, endingSignal }, services: WithCommandFiles & WithCommandEvents) {
    const { wait_seconds: waitSeconds = 0 } = query;
    let command = found;
    if (waitSeconds > 0 && !hasEnded(command.status)) {
      await services.commandEvents.ended(command.id, waitSeconds * 1000, endingSignal());
      command = (await findOutcome(reader, command.id)) ?? command;
    }
    const { id, status, progress, accountId, attempt } = command;
    const head = { id, status, progress, error: errorOf(command) };
    const result = status === "done" ? await resultText(services.commandFilesOf(accountId, id), attempt) : undefined;
    if (result === undefined) return { ...head, inline: null, results: null };
    if (result.size >= INLINE_LIMIT_BYTES) return { ...head, inline: false, results: null };
    return new StreamReply(
      "application/json",
      streamedJson({ ...head, inline: true }, "results", result.read(0, result.size)),
    );
  },
});

/** An attempt that failed is no failure of the command as long as another follows. */
function errorOf({ status, cause }: CommandOutcome): string | null {
  if (status === "error") return cause ?? "the command has failed";
  return status === "cancelled" ? "cancelled" : null;
}
