const MAX_NAMED_STATEMENTS = 500;

/**
 * Statements are text constants, so each is prepared once per connection, under a name. The number is bounded: texts
 * built from parts would otherwise fill the server's memory with plans.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();

  /** Undefined if there are too many; the statement is then sent without a name. */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MAX_NAMED_STATEMENTS) return known;
    const name = `s${this.#names.size + 1}`;
    this.#names.set(text, name);
    return name;
  }
}
