/**
 * The journal in which programs record when they ran. All programs append to one shared file, so the order of the lines
 * is the order of events. Pure.
 */
export interface JournalLine {
  readonly command: number;
  readonly attempt: number;
  readonly word: "start" | "tick" | "end";
  readonly atMs: number;
  /** Only in start lines: whether the driver was started for the program or had waited for one. */
  readonly manner: "cold" | "standby" | undefined;
  /** The whole line, which the program also prints. */
  readonly text: string;
}

/**
 * A program that appends to the journal, prints the same lines, and writes the first one to its log, too. `laterTicks`
 * is its length from the second attempt on. The stub driver sets `$JOURNAL` and `$MANNER`.
 */
export function journallingProgram(ticks: number, exitCode: number, laterTicks = ticks): string {
  return [
    'say() { line="$COMMAND $ATTEMPT $1 $(date +%s%3N)$2"; echo "$line" >> "$JOURNAL"; echo "$line"; }',
    'say start " ${MANNER:-cold}"',
    'echo "$line" >&2',
    `left=${laterTicks}; [ "$ATTEMPT" = 1 ] && left=${ticks}`,
    'while [ "$left" -gt 0 ]; do sleep 0.1; say tick; left=$((left - 1)); done',
    "say end",
    `exit ${exitCode}`,
  ].join("\n");
}

export function parseJournal(text: string): JournalLine[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const match = /^(\d+) (\d+) (start|tick|end) (\d+)(?: (cold|standby))?$/.exec(line);
      if (match === null) throw new Error(`not a journal line: ${line}`);
      const [, command, attempt, word, at, manner] = match;
      return {
        command: Number(command),
        attempt: Number(attempt),
        word: word as JournalLine["word"], // one of the pattern's
        atMs: Number(at),
        manner: manner as JournalLine["manner"], // one of the pattern's
        text: line,
      };
    });
}

/** Everything that an attempt printed, according to the journal. */
export function outputOf(lines: readonly JournalLine[], attempt: number): string {
  return lines
    .filter((line) => line.attempt === attempt)
    .map(({ text }) => `${text}\n`)
    .join("");
}
