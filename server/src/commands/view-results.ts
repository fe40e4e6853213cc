import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OneOf } from "../http/schema.ts";
import { invalid, type Rule } from "../lib/fault.ts";
import { findCommandOutcome, READ_COMMANDS, CommandParams } from "./view-command.ts";
import type { WithOtherNodes } from "./output/other-nodes.ts";
import type { LocateResult } from "./publishing/locate-result.ts";
import { RESULT_FORMATS, type WithResults } from "./results/command-result.ts";
import type { CommandStatus } from "./store/command-row.ts";
import type { CommandOutcome } from "./store/outcome.ts";

const Results = Type.Object({
  inline: Type.Boolean({
    description:
      "True if this reply contains the results, because they are smaller than HEADGATE_INLINE_RESULT_LIMIT (20 MiB by default)",
  }),
  results: Type.Optional(
    Type.String({
      description:
        "The rows of a query, with tabs between columns and CR LF after each row; or the output of a program, where invalid UTF-8 becomes U+FFFD",
    }),
  ),
  result_location: Type.Optional(
    Type.Array(Type.String(), { description: "The location of other results, under the account's storage_location" }),
  ),
});

export const viewResults = operation({
  id: "command_results",
  summary: "Read the results of a command",
  description:
    "The results of a script with several statements are those of the last one that returns rows. The output of a program is also available after the program failed or was cancelled.",
  tag: "Commands",
  method: "GET",
  paths: { "v1.2": "/commands/:command_id/results" },
  access: { permission: READ_COMMANDS },
  params: CommandParams,
  query: Type.Object({
    format: Type.Optional(
      OneOf(RESULT_FORMATS, {
        description:
          "A stream of any size. raw: the text itself, for a program its exact bytes. For queries only: json (an array of objects), csv and arrow",
      }),
    ),
    include_headers: Type.Optional(
      Type.Boolean({ description: "Column names first, in text and csv; programs have none" }),
    ),
    inline: Type.Optional(
      Type.Boolean({
        default: true,
        description: "false: replies with result_location, whatever the size. Has no effect together with format",
      }),
    ),
    raw: Type.Optional(
      Type.Boolean({
        description: "Separates the columns of the text by ^A instead of tabs; a program's output is never changed",
      }),
    ),
  }),
  reply: Results,
  streams: {
    "application/octet-stream": "With format=raw: the text; for a program its exact bytes",
    "text/csv": "With format=csv",
    "application/vnd.apache.arrow.stream": "With format=arrow: an Arrow IPC stream",
  },
  find: findCommandOutcome,

  async handle({ found, query, ...request }, services: WithResults & WithOtherNodes & { locateResult: LocateResult }) {
    if (!services.commandResults.mayExist(found)) throw invalid("results", withoutResults(found.status));
    const { format, inline: mayBeInline = true, include_headers: includeHeaders = false, raw = false } = query;
    const answer = await services.otherNodes.forward(found, request);
    if (answer !== undefined) return answer;
    // Before anything is rendered or uploaded.
    request.requireSlot("stream");
    const result = await services.commandResults.of(found);
    if (result === undefined) throw invalid("results", whyAbsent(found));
    const options = { includeHeaders, raw };
    if (format !== undefined) return result.stream(format, options);
    const { inlineLimitBytes } = services.commandResults;
    const inline = mayBeInline ? await result.inline({ inline: true }, options, inlineLimitBytes) : undefined;
    if (inline !== undefined) return inline;
    request.endingSignal(); // the upload may take long, so the slot of the request is released
    return { inline: false, result_location: [await services.locateResult(found, result.content)] };
  },
});

/** A program that never began has printed nothing that could be removed. */
function whyAbsent({ status, resultBytes }: CommandOutcome): Rule {
  return status === "done" || (resultBytes ?? 0) > 0 ? REMOVED : withoutResults(status);
}

const REMOVED: Rule = "of this command have been removed from the server";

function withoutResults(status: CommandStatus): Rule {
  return status === "done" ? REMOVED : WITHOUT_RESULTS[status];
}

const WITHOUT_RESULTS: Record<Exclude<CommandStatus, "done">, Rule> = {
  waiting: "are available when the command has ended; it is waiting",
  running: "are available when the command has ended; it is running",
  cancelling: "are not available: the command is being cancelled",
  error: "are not available: the command has failed",
  cancelled: "are not available: the command was cancelled",
};
