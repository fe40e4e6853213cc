import { type GivenMacro, type MacroValues, type TextPiece, macroPieces } from "../submission/macros.ts";
import { maskPieces } from "./mask-pieces.ts";
import type { Span } from "./span.ts";
import { secretMask } from "../../lib/secret.ts";
import type { CommandSecrets } from "./command-secrets.ts";
import { secretSpans } from "./secret-spans.ts";

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

export interface MaskedSubmission extends Pick<MaskedCopy, "macros" | "values"> {
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
