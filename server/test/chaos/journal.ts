/**
 * What the drivers themselves say about when they ran: each line was appended by the program of a command, so the order
 * of the lines is the order of what happened. Pure.
 */
export interface JournalLine {
  readonly command: number;
  readonly attempt: number;
  readonly word: "start" | "tick" | "end";
  readonly atMs: number;
  /** Of a start: whether the driver was started for the program, or had waited for one. */
  readonly manner: "cold" | "standby" | undefined;
  /** As the program has printed it, too. */
  readonly text: string;
}

/**
 * A program that journals its life, by default the same in each attempt, and prints the same lines; the first one goes to
 * its log, too. `$JOURNAL` and `$MANNER` are given by the stub driver.
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
      if (match === null) throw new Error(`not a line of a driver: ${line}`);
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

/** All that an attempt printed, by its own account. */
export function outputOf(lines: readonly JournalLine[], attempt: number): string {
  return lines
    .filter((line) => line.attempt === attempt)
    .map(({ text }) => `${text}\n`)
    .join("");
}
