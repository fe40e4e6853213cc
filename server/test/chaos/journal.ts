/**
 * What the drivers themselves say about when they ran: each line was appended by the program of a command, so the order
 * of the lines is the order of what happened. Pure.
 */
export interface JournalLine {
  readonly command: number;
  readonly attempt: number;
  readonly word: "start" | "tick" | "end";
  readonly atMs: number;
}

/** What the store says of a command in the end. */
export interface StoredCommand {
  readonly id: number;
  readonly status: string;
  readonly retry: number;
  readonly endMs: number | null;
  /** Of its last attempt. */
  readonly cause: string | null;
  readonly nodeId: string | null;
  readonly attempt: number;
}

export interface ExpectedCommand {
  readonly id: number;
  /** Ends itself with an error. */
  readonly fails: boolean;
  /** The client asked to cancel it. */
  readonly cancelled: boolean;
  /** Its runner or its driver was killed, or its machine was started anew. */
  readonly hit: boolean;
  /** What the kept output of its last attempt is; undefined: there is none. */
  readonly output: string | undefined;
}

export interface Verdict {
  readonly lost: string[];
  readonly overlapping: string[];
  readonly repeated: string[];
  readonly stuck: string[];
}

/** Between a driver's own clock reading and the writing of the line. */
const LATE_MS = 100;
const ENDED = ["done", "error", "cancelled"];

/** A program that journals its life, by default the same in each attempt; `$JOURNAL` is given by the stub driver. */
export function journallingProgram(ticks: number, exitCode: number, laterTicks = ticks): string {
  return [
    'say() { echo "$COMMAND $ATTEMPT $1 $(date +%s%3N)" >> "$JOURNAL"; }',
    "say start",
    `left=${laterTicks}; [ "$ATTEMPT" = 1 ] && left=${ticks}`,
    'while [ "$left" -gt 0 ]; do sleep 0.1; say tick; left=$((left - 1)); done',
    "echo all of command $COMMAND",
    "say end",
    `exit ${exitCode}`,
  ].join("\n");
}

export const outputOf = (id: number): string => `all of command ${id}\n`;

export function parseJournal(text: string): JournalLine[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const match = /^(\d+) (\d+) (start|tick|end) (\d+)$/.exec(line);
      if (match === null) throw new Error(`not a line of a driver: ${line}`);
      const [, command, attempt, word, at] = match;
      return {
        command: Number(command),
        attempt: Number(attempt),
        word: word as JournalLine["word"], // one of the pattern's
        atMs: Number(at),
      };
    });
}

export function judge(
  lines: readonly JournalLine[],
  stored: readonly StoredCommand[],
  expected: readonly ExpectedCommand[],
): Verdict {
  const linesOf = Map.groupBy(lines, ({ command }) => command);
  const storedBy = new Map(stored.map((row) => [row.id, row]));
  const acknowledged = new Set(expected.map(({ id }) => id));
  const all = expected.flatMap(({ id }) => storedBy.get(id) ?? []);
  return {
    lost: [
      ...expected.filter(({ id }) => !storedBy.has(id)).map(({ id }) => `${id} was acknowledged and is not stored`),
      ...expected.flatMap((each) => lossOf(each, storedBy.get(each.id), linesOf.get(each.id) ?? []) ?? []),
    ],
    overlapping: all.flatMap((row) => overlapsOf(row, linesOf.get(row.id) ?? [])),
    repeated: [
      ...stored.filter(({ id }) => !acknowledged.has(id)).map(({ id }) => `${id} was stored without being submitted`),
      ...all.flatMap((row) => repetitionsOf(row, linesOf.get(row.id) ?? [])),
    ],
    stuck: stored.filter(({ status }) => !ENDED.includes(status)).map(({ id, status }) => `${id} is ${status}`),
  };
}

function lossOf(
  expected: ExpectedCommand,
  row: StoredCommand | undefined,
  lines: readonly JournalLine[],
): string | undefined {
  const { id } = expected;
  if (row?.status === "done") {
    if (expected.fails) return `${id} is done although its program fails`;
    if (!lines.some(({ attempt, word }) => word === "end" && attempt === row.attempt))
      return `${id} is done but did not end`;
    if (expected.output !== outputOf(id)) return `${id} is done but printed ${JSON.stringify(expected.output)}`;
  }
  if (row?.status === "cancelled" && !expected.cancelled) return `${id} is cancelled but nobody asked for it`;
  if (row?.status === "error" && !isExplained(expected, row)) return `${id} failed without a reason: ${row.cause}`;
  return undefined;
}

/** A lease may be over whenever a server, its database or the way between them was away for longer. */
function isExplained({ fails, hit }: ExpectedCommand, { cause }: StoredCommand): boolean {
  return fails || hit || /lease was not renewed|fallen silent/.test(cause ?? "");
}

function overlapsOf({ id, endMs }: StoredCommand, lines: readonly JournalLine[]): string[] {
  const overlaps = lines.filter((line, index) => lines.slice(0, index).some(({ attempt }) => attempt > line.attempt));
  const late = lines.filter(({ atMs }) => endMs !== null && atMs > endMs + LATE_MS);
  return [
    ...overlaps.map(({ attempt, word }) => `${id}: ${word} of attempt ${attempt} after a later attempt had begun`),
    ...late.map(({ word, atMs }) => `${id}: ${word} ${atMs - (endMs ?? 0)} ms after it had ended`),
  ];
}

function repetitionsOf({ id, retry }: StoredCommand, lines: readonly JournalLine[]): string[] {
  const starts = lines.filter(({ word }) => word === "start").map(({ attempt }) => attempt);
  const attempts = new Set(starts);
  return [
    ...(starts.length > attempts.size ? [`${id}: an attempt began twice: ${starts.join(", ")}`] : []),
    ...(attempts.size > retry + 1 ? [`${id}: ${attempts.size} attempts with ${retry} retries`] : []),
  ];
}
