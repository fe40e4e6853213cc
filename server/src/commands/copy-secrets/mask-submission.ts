import type { CommandSecrets } from "./command-secrets.ts";
import { macroPieces } from "../submission/macros.ts";
import { filledText, maskCopy, type Macros, type MaskedCopy } from "./mask-copy.ts";
import { secretSpans } from "./secret-spans.ts";

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
