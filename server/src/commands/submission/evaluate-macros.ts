import type { MacroSandbox } from "../../engines/macro-sandbox/macro-sandbox.ts";
import { Fault, invalid } from "../../lib/fault.ts";
import { NO_MACROS, type MacroValues } from "../macros.ts";
import type { GivenMacro } from "./macro-list.ts";

export async function evaluateMacros(
  sandbox: MacroSandbox,
  accountId: number,
  macros: readonly GivenMacro[],
): Promise<MacroValues> {
  if (macros.length === 0) return NO_MACROS;
  const outcome = await sandbox.evaluate(macros, String(accountId));
  if (outcome === undefined) {
    throw new Fault("unavailable", "Too many submissions with macros are being worked on. Try again shortly.", {
      retryAfterSeconds: 1,
    });
  }
  if (outcome.kind === "failed") throw invalid("macros", `${outcome.name} does not evaluate: ${outcome.reason}`);
  return new Map(macros.map(({ name }, at) => [name, storable(name, outcome.values[at] ?? "")]));
}

function storable(name: string, value: string): string {
  if (value.includes("\u0000") || !value.isWellFormed()) {
    throw invalid("macros", `${name} does not evaluate: it gives no well-formed Unicode without U+0000`);
  }
  return value;
}
