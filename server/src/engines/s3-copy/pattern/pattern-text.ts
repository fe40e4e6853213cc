import { CopyArgumentError } from "../options/copy-argument-error.ts";

/** A regular expression that is read from left to right. */
export class PatternText {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  startsWith(part: string): boolean {
    return this.text.startsWith(part, this.at);
  }

  /** The next character, which may consist of two UTF-16 code units; empty at the end. */
  peek(): string {
    const codePoint = this.text.codePointAt(this.at);
    return codePoint === undefined ? "" : String.fromCodePoint(codePoint);
  }

  take(): string {
    const character = this.peek();
    this.at += character.length;
    return character;
  }

  /** Takes the part if it is next. */
  skip(part: string): boolean {
    const isNext = this.startsWith(part);
    if (isNext) this.at += part.length;
    return isNext;
  }

  /** `expression` is sticky (`/y`). */
  tryMatch(expression: RegExp): string | undefined {
    expression.lastIndex = this.at;
    const [found] = expression.exec(this.text) ?? [];
    this.at += found?.length ?? 0;
    return found;
  }

  match(expression: RegExp, what: string): string {
    const found = this.tryMatch(expression);
    if (found === undefined) throw this.problem(`must have ${what}`);
    return found;
  }

  problem(what: string, at = this.at): CopyArgumentError {
    return new CopyArgumentError(`The regular expression ${what} (at character ${at + 1}).`);
  }
}

/** For syntax of Java that RE2 does not have, because matching could take more than linear time. */
export function cannotTranslate(what: string): CopyArgumentError {
  return new CopyArgumentError(
    `The regular expression uses ${what}, which is not supported: write it in the syntax of RE2.`,
  );
}
