import { printable } from "./printable.ts";
import { stepLine, type ProgressStep } from "./step-line.ts";

/** The part of a stream that a terminal needs; `process.stderr` is one. */
export interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
  write(text: string): unknown;
}

const FALLBACK_COLUMNS = 80;
const REDRAW_MS = 1_000;
/** Of `^C`, which the terminal shows after the progress line. */
const ECHO_LENGTH = 2;

/**
 * Lines for people, and below them one line that shows the progress of something long. The progress line is taken away
 * before anything else is written and drawn again after it, so that neither tears the other. It needs nothing of the
 * terminal but the carriage return.
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

  /** By the terminal and the environment: `NO_COLOR` and `TERM=dumb` turn colours off. */
  get hasColours(): boolean {
    return this.isInteractive && this.#stream.hasColors?.() === true;
  }

  writeLine(line: string): void {
    this.aside(() => this.#stream.write(`${line}\n`));
  }

  /** For what is written to the same screen by another stream. */
  aside(write: () => void): void {
    this.#erase();
    write();
    this.#draw();
  }

  /** Undefined: it has ended. Only where a line can be drawn again. */
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
    // Steps of unknown length show that time passes.
    this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS).unref();
    this.#draw();
  }

  /** The last column stays free: some terminals go to the next line after it. */
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
