import { buffer } from "node:stream/consumers";
import { type CommandTexts, NO_TEXT, readText, type CommandText } from "./output/command-text.ts";
import type { OtherNodes } from "./output/other-nodes.ts";
import { hasEnded } from "./store/command-row.ts";
import type { CommandOutcome } from "./store/outcome.ts";

export interface FollowOptions {
  from: Offsets;
  texts: CommandTexts;
  isHere: OtherNodes["isHere"];
  find: () => Promise<CommandOutcome | undefined>;
  /** Settles when the command has ended, or after the given time. */
  wait: (milliseconds: number) => Promise<void>;
  ending: AbortSignal;
}

type Kind = "err" | "tmp";
type Offsets = Record<Kind, number>;

const POLL_INTERVAL_MS = 1000;
/** Proxies close connections that are silent for a minute. */
const QUIET_LIMIT_MS = 15_000;
/** The size of an event. Only longer lines are cut. */
const EVENT_BYTES = 64 * 1024;

/**
 * Server-sent events: `err` and `tmp` with whole lines, whose id `<err>,<tmp>` has the offsets to continue from, and `end`
 * with the status. The stream ends without `end` when the server stops or another node runs the next attempt; the client
 * then continues with a new request.
 */
export async function* followLog(options: FollowOptions): AsyncGenerator<string> {
  const { from, texts, isHere, find, wait, ending } = options;
  const at = { ...from };
  let wasRunning = false;
  let sentAt = performance.now();
  yield ": following\n\n";
  for (;;) {
    // The row is read before the files: when it says that the command has ended, the files are complete.
    const command = await find();
    if (command === undefined) return;
    const isOver = hasEnded(command.status);
    wasRunning ||= !isOver;
    if (wasRunning && !isHere(command.nodes.at(-1))) return;
    const current = { err: await texts.log(command), tmp: wasRunning ? await texts.output(command) : NO_TEXT };
    for await (const event of newEvents(current, at, isOver)) {
      yield event;
      sentAt = performance.now();
    }
    if (isOver) yield `event: end\ndata: ${command.status}\n\n`;
    if (isOver || ending.aborted) return;
    if (performance.now() - sentAt > QUIET_LIMIT_MS) {
      yield ": still running\n\n";
      sentAt = performance.now();
    }
    await wait(POLL_INTERVAL_MS);
  }
}

async function* newEvents(texts: Record<Kind, CommandText>, at: Offsets, isOver: boolean): AsyncGenerator<string> {
  for (const kind of ["err", "tmp"] as const) {
    for (;;) {
      const bytes = await buffer(readText(texts[kind], at[kind], EVENT_BYTES));
      const whole = bytes.subarray(0, wholeLines(bytes, isOver && at[kind] + bytes.length === texts[kind].size));
      if (whole.length === 0) break;
      at[kind] += whole.length;
      yield eventOf(kind, whole.toString("utf8"), at);
    }
  }
}

/** The number of bytes that can be sent now. A line that is too long is cut between two characters. */
function wholeLines(bytes: Buffer, isLast: boolean): number {
  if (isLast) return bytes.length;
  const lines = bytes.lastIndexOf("\n") + 1;
  if (lines > 0 || bytes.length < EVENT_BYTES) return lines;
  let end = bytes.length;
  for (let back = 1; back <= 3; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) end = bytes.length - back;
    if (byte < 0x80 || byte >= 0xc0) break;
  }
  return end;
}

/** Server-sent events accept three line ends: CR LF, LF and CR. */
function eventOf(kind: Kind, text: string, { err, tmp }: Offsets): string {
  const lines = text.replace(/\r?\n$/, "").split(/\r\n|\n|\r/);
  return `event: ${kind}\nid: ${err},${tmp}\n${lines.map((line) => `data: ${line}\n`).join("")}\n`;
}
