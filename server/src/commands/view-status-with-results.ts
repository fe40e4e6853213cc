import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Id, Nullable, OneOf } from "../http/schema.ts";
import type { WithCommandEvents } from "./queue/command-events.ts";
import { findCommandOutcome, READ_COMMANDS, CommandParams, WaitSeconds } from "./view-command.ts";
import type { WithOtherNodes } from "./output/other-nodes.ts";
import type { WithResults } from "./results/command-result.ts";
import { COMMAND_STATUSES, hasEnded } from "./store/command-row.ts";
import { findOutcome, type CommandOutcome } from "./store/outcome.ts";

const StatusWithResults = Type.Object({
  id: Id,
  status: OneOf(COMMAND_STATUSES),
  progress: Type.Integer(),
  error: Nullable(Type.String({ description: "Why the command has failed" })),
  inline: Nullable(
    Type.Boolean({
      description:
        "Null: there are no results. False: they are not in this reply, because they are too large or you receive too " +
        "many at once; request them with results",
    }),
  ),
  results: Nullable(Type.String()),
});

/** Everything that a client polls for, in one reply. */
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

  async handle({ found, query, reader, ...request }, services: WithResults & WithOtherNodes & WithCommandEvents) {
    const { wait_seconds: waitSeconds = 0 } = query;
    let command = found;
    if (waitSeconds > 0 && !hasEnded(command.status) && request.takeSlot("wait")) {
      await services.commandEvents.ended(command.id, waitSeconds * 1000, request.endingSignal());
      command = (await findOutcome(reader, command.id)) ?? command;
    }
    const { id, status, progress } = command;
    const head = { id, status, progress, error: errorOf(command) };
    if (status !== "done") return { ...head, inline: null, results: null };
    // The status must not be lost after a wait.
    if (!request.takeSlot("stream")) return { ...head, inline: false, results: null };
    const answer = await services.otherNodes.forward(command, request);
    if (answer !== undefined) return answer;
    const result = await services.commandResults.of(command);
    if (result === undefined) return { ...head, inline: null, results: null };
    const options = { includeHeaders: false, raw: false };
    const inline = await result.inline({ ...head, inline: true }, options, services.commandResults.inlineLimitBytes);
    return inline ?? { ...head, inline: false, results: null };
  },
});

/** A failed attempt is not an error of the command while another attempt follows. */
function errorOf({ status, cause }: CommandOutcome): string | null {
  if (status === "error") return cause ?? "the command has failed";
  return status === "cancelled" ? "cancelled" : null;
}
