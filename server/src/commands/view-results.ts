import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OneOf } from "../http/schema.ts";
import { StreamReply } from "../http/stream-reply.ts";
import { invalid } from "../lib/fault.ts";
import { resultText, type WithCommandFiles } from "./command-text.ts";
import { findCommandOutcome, READ_COMMANDS } from "./find-outcome.ts";
import type { LocateResult } from "./publishing/locate-result.ts";
import type { CommandStatus } from "./store/command-row.ts";
import { streamedJson } from "./streamed-json.ts";
import { CommandParams } from "./view-command.ts";

/** A result of this size or more is put into the account's storage instead. */
export const INLINE_LIMIT_BYTES = 20_000_000;

const Results = Type.Object({
  inline: Type.Boolean({ description: "Whether the results are in this reply: those under 20 MB are" }),
  results: Type.Optional(Type.String({ description: "What a program printed; what is no UTF-8 becomes U+FFFD" })),
  result_location: Type.Optional(
    Type.Array(Type.String(), { description: "Where larger results are, under the account's storage_location" }),
  ),
});

/** A program's result is its standard output, unchanged. */
export const viewResults = operation({
  id: "command_results",
  summary: "Read the results of a command",
  tag: "Commands",
  method: "GET",
  paths: { "v1.2": "/commands/:command_id/results" },
  access: { permission: READ_COMMANDS },
  params: CommandParams,
  query: Type.Object({
    format: Type.Optional(
      OneOf(["raw", "json", "csv", "arrow"], { description: "raw: the exact bytes, whatever their size" }),
    ),
    include_headers: Type.Optional(Type.Boolean({ description: "Column names first; programs have none" })),
    raw: Type.Optional(Type.Boolean({ description: "Keeps ^A between columns; a program's output is never changed" })),
  }),
  reply: Results,
  streams: { "application/octet-stream": "With format=raw: the exact bytes" },
  find: findCommandOutcome,

  async handle({ found, query }, services: WithCommandFiles & { locateResult: LocateResult }) {
    if (found.status !== "done") throw invalid("results", WITHOUT_RESULTS[found.status]);
    if (query.format !== undefined && query.format !== "raw") {
      throw invalid("format", "must be raw or absent for a program: its output has no columns");
    }
    const result = await resultText(services.commandFilesOf(found.accountId, found.id), found.attempt);
    if (result === undefined) throw invalid("results", "of this command are not kept any more");
    if (query.format === "raw") {
      return new StreamReply("application/octet-stream", result.read(0, result.size), {
        "Content-Length": String(result.size),
      });
    }
    if (result.size < INLINE_LIMIT_BYTES) {
      return new StreamReply(
        "application/json",
        streamedJson({ inline: true }, "results", result.read(0, result.size)),
      );
    }
    return { inline: false, result_location: [await services.locateResult(found, result)] };
  },
});

const WITHOUT_RESULTS: Record<Exclude<CommandStatus, "done">, string> = {
  waiting: "are there when the command has ended; it waits",
  running: "are there when the command has ended; it runs",
  cancelling: "are not there: the command is being cancelled",
  error: "are not there: the command has failed",
  cancelled: "are not there: the command was cancelled",
};
