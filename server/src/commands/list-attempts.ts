import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Nullable, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { findCommandOutcome, READ_COMMANDS, CommandParams } from "./view-command.ts";
import { listAttempts } from "./store/outcome.ts";

const Attempt = Type.Object({
  number: Type.Integer({ description: "Counts from 1" }),
  started_at: Timestamp,
  ended_at: Nullable(Timestamp),
  exit_code: Nullable(Type.Integer({ description: "Null while it runs, or when it ended without one" })),
  cause: Nullable(Type.String({ description: "Why it did not succeed" })),
});

export const listCommandAttempts = operation({
  id: "command_attempts",
  summary: "List the attempts of a command",
  tag: "Commands",
  method: "GET",
  paths: { "v1.2": "/commands/:command_id/attempts" },
  access: { permission: READ_COMMANDS },
  params: CommandParams,
  reply: Type.Object({ attempts: Type.Array(Attempt) }),
  find: findCommandOutcome,

  async handle({ found, reader }) {
    const rows = await listAttempts(reader, found.id);
    return {
      attempts: rows.map(({ number, startedAt, endedAt, exitCode, cause }) => ({
        number,
        started_at: isoSeconds(startedAt),
        ended_at: endedAt === null ? null : isoSeconds(endedAt),
        exit_code: exitCode,
        cause,
      })),
    };
  },
});
