/**
 * Finds the end of a SQL script (`BEGIN … END`). A keyword opens a block only where a statement of the script may
 * begin, so that columns, functions and clauses of the same name (`end`, `if(…)`, `IF EXISTS`, `FOR COLUMNS`) open
 * none.
 *
 *   block    opened by          statements begin after
 *   begin    BEGIN              BEGIN [NOT ATOMIC] ;
 *   if       IF                 THEN ELSE ;
 *   case     CASE               THEN ELSE ;
 *   while    WHILE              DO ;
 *   for      FOR                DO ;
 *   repeat   REPEAT             REPEAT ;               UNTIL … END closes it
 *   loop     LOOP               LOOP ;
 *   value    CASE expression    never                  END closes it
 */
type Block = "begin" | "if" | "case" | "while" | "for" | "repeat" | "loop" | "value";

const opened: Readonly<Record<string, Block>> = {
  BEGIN: "begin",
  IF: "if",
  CASE: "case",
  WHILE: "while",
  FOR: "for",
  REPEAT: "repeat",
  LOOP: "loop",
};

export class ScriptBlocks {
  readonly #blocks: Block[] = [];
  /** Whether a statement of the script may begin here. */
  #atStart = true;
  /** The part of the statement that was read so far; `first` may turn out to be a label. */
  #statement: "none" | "first" | "declare" | "handler" | "until" | "rest" = "none";
  #previous = "";

  /** Whether a semicolon here belongs to the script. */
  get isOpen(): boolean {
    return this.#blocks.length > 0;
  }

  /** A word of the text, in capitals. */
  word(word: string): void {
    if (this.#previous === "." || this.#previous === "AS") this.#atStart = false;
    else if (this.#atStart) this.#begin(word);
    else this.#continue(word);
    this.#previous = word;
  }

  semicolon(): void {
    // No expression contains a semicolon: a CASE that is still open was a name.
    while (this.#blocks.at(-1) === "value") this.#blocks.pop();
    this.#atStart = true;
    this.#statement = "none";
    this.#previous = ";";
  }

  colon(): void {
    this.#atStart = this.isOpen && this.#statement === "first";
    if (this.#atStart) this.#statement = "none";
    this.#previous = ":";
  }

  /** A quoted name may be a label. */
  quoted(): void {
    this.#statement = this.#atStart ? "first" : this.#later();
    this.#atStart = false;
    this.#previous = "";
  }

  other(character: string): void {
    this.#statement = this.#later();
    this.#atStart = false;
    this.#previous = character;
  }

  #begin(word: string): void {
    if (!this.isOpen) return this.#outside(word);
    const isAtomic = (word === "NOT" && this.#previous === "BEGIN") || (word === "ATOMIC" && this.#previous === "NOT");
    if (isAtomic || word === "ELSE") return;
    const block = opened[word];
    if (block !== undefined) return this.#open(block);
    this.#atStart = false;
    if (word === "END") {
      this.#blocks.pop();
      this.#statement = "rest";
    } else if (word === "DECLARE") this.#statement = "declare";
    else if (word === "UNTIL") this.#statement = "until";
    else this.#statement = "first";
  }

  /** Only a script contains semicolons. */
  #outside(word: string): void {
    if (word === "BEGIN") return this.#open("begin");
    this.#atStart = false;
    this.#statement = "rest";
  }

  #open(block: Block): void {
    this.#blocks.push(block);
    this.#atStart = block === "begin" || block === "repeat" || block === "loop";
    this.#statement = "none";
  }

  #continue(word: string): void {
    const block = this.#blocks.at(-1);
    this.#statement = this.#later();
    if (block === undefined) return;
    if (word === "CASE" && this.#previous !== "END") this.#blocks.push("value");
    else if (word === "THEN" && (block === "if" || block === "case")) this.#atStart = true;
    else if (word === "DO" && (block === "while" || block === "for")) this.#atStart = true;
    else if (word === "HANDLER" && this.#statement === "declare") this.#statement = "handler";
    else if (word === "BEGIN" && this.#statement === "handler") this.#open("begin");
    else if (word === "END") this.#end(block);
  }

  #end(block: Block): void {
    if (block === "value") this.#blocks.pop();
    else if (block === "repeat" && this.#statement === "until") {
      this.#blocks.pop();
      this.#statement = "rest";
    }
  }

  /** The state of the statement after its first word. */
  #later(): "declare" | "handler" | "until" | "rest" {
    return this.#statement === "none" || this.#statement === "first" ? "rest" : this.#statement;
  }
}
