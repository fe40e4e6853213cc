/**
 * The visible contents of a terminal: text that is overwritten after a carriage return is gone. Colours are ignored.
 */
export class Screen {
  readonly #lines: string[] = [""];
  #column = 0;
  written = "";

  write(text: string): void {
    this.written += text;
    // oxlint-disable-next-line no-control-regex -- the colours of a terminal
    for (const character of text.replaceAll(/\u001b\[\d+m/g, "")) this.#put(character);
  }

  /** The lines, without trailing blanks and without empty lines. */
  get lines(): string[] {
    return this.#lines.map((line) => line.trimEnd()).filter((line) => line !== "");
  }

  #put(character: string): void {
    if (character === "\r") this.#column = 0;
    else if (character === "\n") {
      this.#lines.push("");
      this.#column = 0;
    } else {
      const line = this.#lines.pop() ?? "";
      this.#lines.push(line.slice(0, this.#column).padEnd(this.#column) + character + line.slice(this.#column + 1));
      this.#column += 1;
    }
  }
}
