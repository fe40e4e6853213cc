import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { MAX_INTEGER, OneOf } from "../http/schema.ts";
import { StreamReply } from "../http/stream-reply.ts";
import { type WithCommandTexts, NO_TEXT, readText } from "./output/command-text.ts";
import type { WithCommandEvents } from "./queue/command-events.ts";
import { findCommandOutcome, READ_COMMANDS, CommandParams } from "./view-command.ts";
import { followLog } from "./follow-log.ts";
import type { WithOtherNodes } from "./output/other-nodes.ts";
import { hasEnded } from "./store/command-row.ts";
import { findOutcome } from "./store/outcome.ts";

const Offset = (text: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_INTEGER, description: `Bytes of ${text} to skip` }));

const Offsets = Type.String({
  pattern: "^[0-9]+,[0-9]+$",
  description: "The err_file_processed and tmp_file_processed of a request that continues after this event",
});

type LogServices = WithCommandTexts & WithCommandEvents & WithOtherNodes;

/** `err` is the log of all attempts, `tmp` what a command that has not ended yet has printed so far. */
export const viewLogs = operation({
  id: "command_logs",
  summary: "Read or follow the log of a command",
  description:
    "The log after the first err_file_processed bytes, then the output of a running command after the first tmp_file_processed bytes. For the next call, add err_length and tmp_length to these offsets.",
  tag: "Commands",
  method: "GET",
  paths: { "v1.2": "/commands/:command_id/logs" },
  access: { permission: READ_COMMANDS },
  params: CommandParams,
  query: Type.Object({
    err_file_processed: Offset("the log"),
    tmp_file_processed: Offset("the output"),
    follow: Type.Optional(Type.Boolean({ description: "Streams server-sent events until the command has ended" })),
  }),
  streams: { "text/plain": "The log, and the output of a running command" },
  eventStream: {
    description:
      "With follow: server-sent events as the command writes, until it has ended. Lines that begin with a colon are comments; one comes at least every 15 seconds. A stream that ends without the event end was cut off: follow again from the offsets of the last id.",
    events: {
      err: { description: "Lines of the log, each in a data field", id: Offsets, data: Type.String() },
      tmp: {
        description: "Lines of the output of a running command, each in a data field",
        id: Offsets,
        data: Type.String(),
      },
      end: {
        description: "The command has ended; no event follows",
        data: OneOf(["done", "error", "cancelled"], { description: "Its status" }),
      },
    },
    example:
      "event: err\nid: 27,0\ndata: The session has started.\n\nevent: tmp\nid: 27,3\ndata: 42\n\nevent: end\ndata: done\n\n",
  },
  replyHeaders: {
    err_length: "Bytes of the log beyond err_file_processed; not with follow",
    tmp_length: "Bytes of the output beyond tmp_file_processed; not with follow",
  },
  find: findCommandOutcome,

  async handle({ found, query, reader, ...request }, services: LogServices) {
    const { err_file_processed: errOffset = 0, tmp_file_processed: tmpOffset = 0 } = query;
    const { commandTexts, commandEvents, otherNodes } = services;
    if (query.follow === true) request.requireSlot("follow");
    const answer = await otherNodes.forward(found, request);
    if (answer !== undefined) return answer;
    const err = await commandTexts.retainedLog(found);
    const tmp = hasEnded(found.status) ? NO_TEXT : await commandTexts.output(found);
    if (query.follow === true) {
      const ending = request.endingSignal();
      const events = followLog({
        from: { err: errOffset, tmp: tmpOffset },
        texts: commandTexts,
        isHere: (nodeId) => otherNodes.isHere(nodeId),
        find: () => findOutcome(reader, found.id),
        wait: (milliseconds) => commandEvents.ended(found.id, milliseconds, ending),
        ending,
      });
      return new StreamReply("text/event-stream", events, { "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
    }
    const [errLength, tmpLength] = [Math.max(0, err.size - errOffset), Math.max(0, tmp.size - tmpOffset)];
    const body = async function* (): AsyncGenerator<Buffer> {
      yield* readText(err, errOffset);
      yield* readText(tmp, tmpOffset);
    };
    return new StreamReply("text/plain", body(), {
      err_length: String(errLength),
      tmp_length: String(tmpLength),
      "Content-Length": String(errLength + tmpLength),
    });
  },
});
