import { buffer } from "node:stream/consumers";
import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { type WithCommandTexts, readText, type CommandText } from "./output/command-text.ts";
import { findCommandOutcome, READ_COMMANDS, CommandParams } from "./view-command.ts";
import type { WithOtherNodes } from "./output/other-nodes.ts";

/** The end of the log has the reason for a failure; `logs` returns the whole log. */
const TAIL_BYTES = 1024 * 1024;

export const viewErrorLog = operation({
  id: "command_error_log",
  summary: "View the end of a command's log",
  description: "At most the last MiB, beginning with a whole line.",
  tag: "Commands",
  method: "GET",
  paths: { "v1.2": "/commands/:command_id/error_logs" },
  access: { permission: READ_COMMANDS },
  params: CommandParams,
  reply: Type.Object({ error_log: Type.String() }),
  find: findCommandOutcome,

  async handle({ found, ...request }, { commandTexts, otherNodes }: WithCommandTexts & WithOtherNodes) {
    const answer = await otherNodes.forward(found, request);
    return answer ?? { error_log: await tailOf(await commandTexts.retainedLog(found)) };
  },
});

async function tailOf(text: CommandText): Promise<string> {
  const start = Math.max(0, text.size - TAIL_BYTES);
  const bytes = await buffer(readText(text, start));
  const firstLine = start === 0 ? 0 : bytes.indexOf("\n") + 1;
  return bytes.toString("utf8", firstLine);
}
