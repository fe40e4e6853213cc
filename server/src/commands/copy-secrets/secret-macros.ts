import { secretMask } from "../../lib/secret.ts";
import type { GivenMacro, MacroValues } from "../submission/macros.ts";

/**
 * The macros that must not be shown: those that are part of a credential, the earlier macros that these use, and all
 * macros that use any of them. An expression counts as using every name that it mentions.
 */
export function secretMacros(macros: readonly GivenMacro[], inSecrets: ReadonlySet<string>): ReadonlySet<string> {
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

export function maskedMacros(macros: readonly GivenMacro[], secret: ReadonlySet<string>): GivenMacro[] {
  return macros.map((macro) => (secret.has(macro.name) ? { ...macro, expression: secretMask } : macro));
}

export function maskedValues(values: MacroValues, secret: ReadonlySet<string>): MacroValues {
  return new Map([...values].map(([name, value]) => [name, secret.has(name) ? secretMask : value]));
}
