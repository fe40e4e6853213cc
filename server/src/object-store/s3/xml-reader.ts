/**
 * Reads a document of S3 element by element, and builds no tree, because a listing of a million keys has a thousand pages.
 * Comments, processing instructions, attributes and the prefixes of names are skipped. There is no document type, so no
 * entity can expand. A malformed document, or one with too much markup, is an error.
 */
export class XmlReader {
  readonly #bytes: Buffer;
  /** One character per byte, so that positions are the same in both. */
  readonly #text: string;
  readonly #hasReturns: boolean;
  #at = 0;
  #markupCount = 0;
  /** The names of the open elements. */
  readonly #open: string[] = [];
  /** The element that was opened last ends with its start tag. */
  #isEmpty = false;

  constructor(bytes: Buffer, rootName: string) {
    this.#bytes = bytes;
    this.#text = bytes.toString("latin1");
    this.#hasReturns = this.#text.includes("\r");
    if (this.#text.startsWith(BYTE_ORDER_MARK)) this.#at = BYTE_ORDER_MARK.length;
    if (this.next() !== rootName) throw new Error(`the document is not a ${rootName}`);
  }

  /** Opens the next child of the open element. Null: it has no more, and is closed. */
  next(): string | null {
    if (this.#isEmpty) return this.#closeEmpty();
    const start = this.#toTag();
    if (this.#text.charCodeAt(start + 1) === SLASH) {
      this.#close(start);
      return null;
    }
    this.#countMarkup();
    const end = this.#position(">", start);
    const tag = this.#text.slice(start + 1, end);
    this.#at = end + 1;
    const isPlain = isPlainName(tag);
    const name = isPlain ? tag : this.#nameWithMore(start);
    if (this.#open.push(name) > MAX_DEPTH) throw new Error("the document is nested too deeply");
    return isPlain ? name : name.slice(name.indexOf(":") + 1);
  }

  /** The text of the open element, which it closes. */
  text(): string {
    if (this.#isEmpty) {
      this.#closeEmpty();
      return "";
    }
    let text = "";
    for (;;) {
      const start = this.#position("<", this.#at);
      // Copied from the bytes: a slice of the text would keep the whole page in memory as long as one key is used.
      text += this.#decoded(this.#bytes.toString("utf8", this.#at, start));
      if (this.#text.charCodeAt(start + 1) === SLASH) {
        this.#close(start);
        return text;
      }
      this.#at = start;
      if (this.#skipDelimited(SECTION, "]]>")) {
        text += this.#bytes.toString("utf8", start + SECTION.length, this.#at - 3);
      } else if (!this.#skipCommentOrInstruction()) throw malformed();
    }
  }

  /** Like `text`, for ASCII that the caller does not keep: it is neither copied nor decoded. */
  word(): string {
    const start = this.#at;
    const end = this.#isEmpty ? -1 : this.#position("<", start);
    if (this.#text.charCodeAt(end + 1) !== SLASH) return this.text();
    this.#close(end);
    return this.#text.slice(start, end);
  }

  /** Closes the open element, whatever is in it. */
  skip(): void {
    for (const depth = this.#open.length; this.#open.length >= depth;) {
      if (!this.#isEmpty) this.#at = this.#position("<", this.#at);
      if (this.#isEmpty || !(this.#skipDelimited(SECTION, "]]>") || this.#skipCommentOrInstruction())) this.next();
    }
  }

  /** Skips to the next tag. */
  #toTag(): number {
    for (;;) {
      const start = this.#position("<", this.#at);
      if (start !== this.#at && this.#text.slice(this.#at, start).trim() !== "") throw malformed();
      const second = this.#text.charCodeAt(start + 1);
      if (second !== QUESTION_MARK && second !== EXCLAMATION_MARK) return start;
      this.#at = start;
      if (!this.#skipCommentOrInstruction()) throw malformed(); // a document type, or a section where no text belongs
    }
  }

  /** Returns whether a comment or a processing instruction begins here. */
  #skipCommentOrInstruction(): boolean {
    return this.#skipDelimited("<!--", "-->") || this.#skipDelimited("<?", "?>");
  }

  /** Skips what begins with `start`, up to `end`. Returns whether it begins here. */
  #skipDelimited(start: string, end: string): boolean {
    if (!this.#text.startsWith(start, this.#at)) return false;
    this.#countMarkup();
    this.#at = this.#position(end, this.#at + start.length) + end.length;
    return true;
  }

  /** The name in a tag that has attributes or ends the element. */
  #nameWithMore(start: number): string {
    for (let at = start + 1; ;) {
      TAG_END.lastIndex = at;
      const [found] = TAG_END.exec(this.#text) ?? [];
      if (found === undefined || found === "<") throw malformed();
      if (found === ">") break;
      this.#countMarkup();
      at = this.#position(found, TAG_END.lastIndex) + 1;
    }
    this.#at = TAG_END.lastIndex;
    this.#isEmpty = this.#text.charCodeAt(this.#at - 2) === SLASH;
    NAME_IN_TAG.lastIndex = start + 1;
    const [, name] = NAME_IN_TAG.exec(this.#text) ?? [];
    if (name === undefined) throw malformed();
    return name;
  }

  #close(start: number): void {
    const name = this.#open.pop() ?? "";
    const nameEnd = start + 2 + name.length;
    if (name === "" || !this.#text.startsWith(name, start + 2)) throw malformed();
    const end = this.#text.charCodeAt(nameEnd) === GREATER ? nameEnd : this.#position(">", nameEnd);
    if (end !== nameEnd && this.#text.slice(nameEnd, end).trim() !== "") throw malformed();
    this.#at = end + 1;
    this.#checkEnd();
  }

  #closeEmpty(): null {
    this.#isEmpty = false;
    this.#open.pop();
    this.#checkEnd();
    return null;
  }

  /** After the root, there can only be comments and processing instructions. */
  #checkEnd(): void {
    if (this.#open.length > 0) return;
    do {
      NOT_BLANK.lastIndex = this.#at;
      this.#at = NOT_BLANK.exec(this.#text)?.index ?? this.#text.length;
    } while (this.#skipCommentOrInstruction());
    if (this.#at < this.#text.length) throw malformed();
  }

  #decoded(given: string): string {
    const text = this.#hasReturns ? given.replaceAll(/\r\n?/g, "\n") : given;
    return !text.includes("&")
      ? text
      : text.replaceAll(/&([^;&]*;?)/g, (_, name: string) => {
          this.#countMarkup();
          return referenced(name);
        });
  }

  #position(text: string, from: number): number {
    const position = this.#text.indexOf(text, from);
    if (position === -1) throw malformed();
    return position;
  }

  #countMarkup(): void {
    if ((this.#markupCount += 1) > MAX_MARKUP) throw new Error("the document has too many tags");
  }
}

/** Reading blocks the thread, for a time that grows with the markup. A page of 1,000 keys counts about 15,000. */
const MAX_MARKUP = 100_000;
const MAX_DEPTH = 64;
const NAME_IN_TAG = /([\w:.-]+)[\s/>]/y;
const NOT_BLANK = /[^ \t\r\n]/g;
const TAG_END = /["'<>]/g;
const BYTE_ORDER_MARK = "\xEF\xBB\xBF";
const SECTION = "<![CDATA[";
const SLASH = 0x2f;
const GREATER = 0x3e;
const DIGIT = 0x30;
const COLON = 0x3a;
const QUESTION_MARK = 0x3f;
const EXCLAMATION_MARK = 0x21;
const entities: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** Whether a tag has nothing but a name without prefix. A loop, because a regular expression takes twice as long. */
function isPlainName(tag: string): boolean {
  for (let at = 0; at < tag.length; at += 1) {
    const code = tag.charCodeAt(at);
    if (code <= COLON && (code < DIGIT ? !".-".includes(tag.charAt(at)) : code === COLON)) return false;
  }
  return true;
}

/** `text`: the reference without the ampersand. */
function referenced(text: string): string {
  const name = text.endsWith(";") ? text.slice(0, -1) : "";
  const known = entities.get(name);
  if (known !== undefined) return known;
  const [, hex, decimal] = /^#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}))$/.exec(name) ?? [];
  const code = hex === undefined ? Number.parseInt(decimal ?? "", 10) : Number.parseInt(hex, 16);
  const char = Number.isNaN(code) || code === 0 ? "" : String.fromCodePoint(code);
  if (char === "" || !char.isWellFormed()) throw malformed();
  return char;
}

function malformed(): Error {
  return new Error("the document is malformed");
}
