const spinner = ["-", "\\", "|", "/"];
const spinnerMillis = 120;
const lineMillis = 5000;

/**
 * A step that a person waits for: one line that ticks on a terminal, a line every few seconds elsewhere. Standard error,
 * because standard output belongs to what the command prints.
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

  /** Leaves the line that stays. */
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
