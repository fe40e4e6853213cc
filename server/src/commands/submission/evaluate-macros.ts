import type { MacroSandbox } from "../../engines/macro-sandbox/macro-sandbox.ts";
import { Fault, invalid } from "../../lib/fault.ts";
import { NO_MACROS, type GivenMacro, type MacroValues } from "./macros.ts";

/**
 * `mayHoldSecrets`: the refusal does not say why a macro fails, because the interpreter's message quotes the
 * expression.
 */
export async function evaluateMacros(
  sandbox: MacroSandbox,
  accountId: number,
  macros: readonly GivenMacro[],
  mayHoldSecrets: boolean,
): Promise<MacroValues> {
  if (macros.length === 0) return NO_MACROS;
  const outcome = await sandbox.evaluate(macros, String(accountId));
  if (outcome === undefined) {
    throw new Fault("unavailable", "Too many submissions with macros are being worked on. Try again shortly.", {
      retryAfterSeconds: 1,
    });
  }
  if (outcome.kind === "failed") {
    const reason = mayHoldSecrets ? REASON_UNSAID : outcome.reason;
    throw invalid("macros", `${outcome.name} does not evaluate: ${reason}`);
  }
  return new Map(macros.map(({ name }, at) => [name, storable(name, outcome.values[at] ?? "")]));
}

const REASON_UNSAID = "the reason is not shown, because macros of a copy may contain keys. Text needs quotes: 'text'";

function storable(name: string, value: string): string {
  if (value.includes("\u0000") || !value.isWellFormed()) {
    throw invalid("macros", `${name} does not evaluate: it gives no well-formed Unicode without U+0000`);
  }
  return value;
}
