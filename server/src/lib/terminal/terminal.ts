import { printable } from "./printable.ts";

/** The part of a stream that a terminal needs; `process.stderr` is one. */
export interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
  write(text: string): unknown;
}

const FALLBACK_COLUMNS = 80;
const REDRAW_MS = 1_000;
/** The length of `^C`, which the terminal shows after the progress line. */
const ECHO_LENGTH = 2;

/**
 * Writes lines of text and, below them, one line that shows the progress of a long operation. The progress line is
 * erased before anything else is written and drawn again afterwards, so that the two never mix. The terminal only has
 * to understand the carriage return.
 */
export class Terminal {
  readonly #stream: TerminalStream;
  readonly #now: () => number;
  #step: ProgressStep | undefined;
  #startedAt = 0;
  #drawn = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: TerminalStream, now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
  }

  get isInteractive(): boolean {
    return this.#stream.isTTY === true;
  }

  /** The terminal and the environment decide: `NO_COLOR` and `TERM=dumb` turn colours off. */
  get hasColours(): boolean {
    return this.isInteractive && this.#stream.hasColors?.() === true;
  }

  writeLine(line: string): void {
    this.aside(() => this.#stream.write(`${line}\n`));
  }

  /** Lets another stream write to the same screen. */
  aside(write: () => void): void {
    this.#erase();
    write();
    this.#draw();
  }

  /** Undefined: the operation has ended. Does nothing if the stream is not a terminal. */
  showProgress(step: ProgressStep | undefined): void {
    if (!this.isInteractive) return;
    if (step === undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#erase();
      this.#step = undefined;
      return;
    }
    if (this.#step === undefined) this.#startedAt = this.#now();
    this.#step = step;
    // A step of unknown length shows only the elapsed time, so the line is redrawn every second.
    this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS).unref();
    this.#draw();
  }

  /** The last column stays free, because some terminals wrap after it. */
  get #columns(): number {
    const { columns = 0 } = this.#stream;
    return (columns > 0 ? columns : FALLBACK_COLUMNS) - 1;
  }

  #draw(): void {
    if (this.#step === undefined) return;
    const seconds = Math.floor((this.#now() - this.#startedAt) / 1000);
    const line = printable(stepLine(this.#step, seconds, this.#columns));
    if (line === this.#drawn) return;
    this.#stream.write(`\r${line.padEnd(Math.min(this.#drawn.length, this.#columns))}`);
    this.#drawn = line;
  }

  #erase(): void {
    if (this.#drawn === "") return;
    const length = Math.min(this.#drawn.length + ECHO_LENGTH, this.#columns);
    this.#stream.write(`\r${" ".repeat(length)}\r`);
    this.#drawn = "";
  }
}

/** A step of a long operation. */
export interface ProgressStep {
  readonly text: string;
  /** 0–100, if the length of the step is known. */
  readonly percent?: number;
  /** Downloaded or written so far. */
  readonly bytes?: number;
}

const MAX_BAR_WIDTH = 30;
const MIN_BAR_WIDTH = 8;

/** `Downloading Spark [#########---------------------] 30 % 136.7 MB 0:42`; the bar takes the columns that are left. */
export function stepLine({ text, percent, bytes }: ProgressStep, seconds: number, columns: number): string {
  const elapsed = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  // A tenth of a megabyte also grows over a slow line, where a percent of Spark takes many seconds.
  const size = bytes === undefined ? [] : [`${(bytes / 1e6).toFixed(1)} MB`];
  if (percent === undefined) return [text, ...size, elapsed].join(" ").slice(0, columns);
  const tail = [`${percent} %`, ...size, elapsed].join(" ");
  const width = Math.min(MAX_BAR_WIDTH, columns - text.length - tail.length - " [] ".length);
  if (width < MIN_BAR_WIDTH) return `${text} ${tail}`.slice(0, columns);
  const filled = Math.round((width * percent) / 100);
  return `${text} [${"#".repeat(filled)}${"-".repeat(width - filled)}] ${tail}`;
}
