import { type GivenMacro, type MacroValues, type TextPiece, macroPieces } from "../submission/macros.ts";
import { type Span, secretSpans } from "./secret-spans.ts";
import { secretMask } from "../../lib/secret.ts";
import type { CommandSecrets } from "./command-secrets.ts";

/** A copy as it may be stored and shown. */
export interface MaskedCopy {
  shown: string;
  /**
   * The text that runs, to be sealed. Null: there are no credentials, so `shown` and the macros are enough to run it.
   */
  sealed: string | null;
  macros: readonly GivenMacro[];
  values: MacroValues;
}

export interface Macros {
  given: readonly GivenMacro[];
  values: MacroValues;
}

/** `spans`: the credentials in the text with its macros filled in. */
export function maskCopy(
  pieces: readonly TextPiece[],
  { given, values }: Macros,
  spans: readonly Span[],
  knownMacros: ReadonlySet<string> = new Set(),
): MaskedCopy {
  const { shown, macros } = maskPieces(pieces, spans);
  const secret = secretMacros(given, macros.union(knownMacros));
  return {
    shown,
    sealed: spans.length === 0 ? null : filledText(pieces),
    macros: maskedMacros(given, secret),
    values: maskedValues(values, secret),
  };
}

export function filledText(pieces: readonly TextPiece[]): string {
  return pieces.map(({ filled }) => filled).join("");
}

/**
 * The macros that must not be shown: those that are part of a credential, the earlier macros that these use, and all
 * macros that use any of them. An expression counts as using every name that it mentions.
 */
function secretMacros(macros: readonly GivenMacro[], inSecrets: ReadonlySet<string>): ReadonlySet<string> {
  const secret = new Set(inSecrets);
  const mentioned = new Map(macros.map(({ name, expression }) => [name, new Set(expression.match(/\w+/g))]));
  for (const { name } of macros.toReversed()) {
    if (!secret.has(name)) continue;
    const own = mentioned.get(name);
    for (const other of macros) if (own?.has(other.name) === true) secret.add(other.name);
  }
  for (const { name } of macros) {
    if (mentioned.get(name)?.isDisjointFrom(secret) === false) secret.add(name);
  }
  return secret;
}

function maskedMacros(macros: readonly GivenMacro[], secret: ReadonlySet<string>): GivenMacro[] {
  return macros.map((macro) => (secret.has(macro.name) ? { ...macro, expression: secretMask } : macro));
}

function maskedValues(values: MacroValues, secret: ReadonlySet<string>): MacroValues {
  return new Map([...values].map(([name, value]) => [name, secret.has(name) ? secretMask : value]));
}

interface MaskedSubmission extends Pick<MaskedCopy, "macros" | "values"> {
  command: Readonly<Record<string, unknown>>;
  secrets: CommandSecrets | null;
}

/**
 * `field`: the text of the command that may contain credentials. Refuses a text in which a macro leaves a quote open.
 */
export function maskSubmission(
  command: Readonly<Record<string, unknown>>,
  field: "sub_command_args" | null,
  macros: Macros,
): MaskedSubmission {
  const text = field === null ? undefined : command[field];
  if (field === null || typeof text !== "string") {
    return { command, secrets: null, macros: macros.given, values: macros.values };
  }
  const pieces = macroPieces(text, macros.values);
  const masked = maskCopy(pieces, macros, secretSpans(filledText(pieces), field));
  return {
    command: { ...command, [field]: masked.shown },
    secrets: masked.sealed === null ? null : { [field]: masked.sealed },
    macros: masked.macros,
    values: masked.values,
  };
}

interface MaskedText {
  /** The text as written, with a mask in place of each span. */
  shown: string;
  /** The macros that lie in a span, or whose value contains one. */
  macros: ReadonlySet<string>;
}

/**
 * `spans` are positions in the filled text, in ascending order. A macro whose value is only partly a credential stays
 * in the text: its name gives nothing away.
 */
function maskPieces(pieces: readonly TextPiece[], spans: readonly Span[]): MaskedText {
  const macros = new Set<string>();
  const text = new ShownText();
  let start = 0;
  let next = 0;
  for (const { written, filled, macro } of pieces) {
    const end = start + filled.length;
    const cuts: Span[] = [];
    for (let span = spans[next]; span !== undefined && span.start < end; span = spans[next]) {
      cuts.push(span);
      if (span.end > end) break; // the span continues in the next piece
      next += 1;
    }
    if (macro !== null && cuts.length > 0) macros.add(macro);
    if (written === filled) {
      showBetween(text, filled, start, cuts);
    } else {
      const around = cuts.find((span) => span.start <= start && span.end >= end);
      if (around === undefined) text.show(written);
      else text.mask(around);
    }
    start = end;
  }
  return { shown: text.text, macros };
}

/** Shows ordinary text, except for the spans. `start` is its position in the whole text. */
function showBetween(text: ShownText, filled: string, start: number, cuts: readonly Span[]): void {
  let at = 0;
  for (const span of cuts) {
    text.show(filled.slice(at, Math.max(span.start - start, 0)));
    text.mask(span);
    at = span.end - start;
  }
  text.show(filled.slice(at));
}

/** A span that covers several pieces gets a single mask. */
class ShownText {
  text = "";
  #masked: Span | undefined;

  show(text: string): void {
    if (text === "") return;
    this.text += text;
    this.#masked = undefined;
  }

  mask(span: Span): void {
    if (span !== this.#masked) this.text += secretMask;
    this.#masked = span;
  }
}
