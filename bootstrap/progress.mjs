const spinner = ["-", "\\", "|", "/"];
const spinnerMillis = 120;
const lineMillis = 5000;

/**
 * Shows the progress of a step: one line that is updated on a terminal, otherwise a line every few seconds. It writes
 * to standard error, because standard output is for the output of the command.
 */
export class Step {
  constructor(title, stream = process.stderr) {
    this.title = title;
    this.stream = stream;
    this.startedAt = Date.now();
    this.ticks = 0;
    if (!stream.isTTY) stream.write(`headgate: ${title} …\n`);
    this.timer = setInterval(() => this.#tick(), stream.isTTY ? spinnerMillis : lineMillis);
  }

  /** Writes the final line. */
  end(outcome) {
    clearInterval(this.timer);
    const seconds = ((Date.now() - this.startedAt) / 1000).toFixed(1);
    this.stream.write(`${this.stream.isTTY ? "\r\x1b[K" : ""}headgate: ${this.title}: ${outcome} (${seconds} s)\n`);
  }

  #tick() {
    const seconds = Math.floor((Date.now() - this.startedAt) / 1000);
    this.ticks += 1;
    const text = `headgate: ${this.title} … ${seconds} s`;
    this.stream.write(this.stream.isTTY ? `\r\x1b[K${spinner[this.ticks % spinner.length]} ${text}` : `${text}\n`);
  }
}
