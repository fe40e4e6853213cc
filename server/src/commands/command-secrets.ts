import type { KeyRing } from "../lib/key-ring.ts";
import { fillMacros, type MacroValues } from "./macros.ts";

/** Values of a command that stay sealed (`encryptionKey`): JSON of one list a name, in the order of their masks. */
export type CommandSecrets = Readonly<Record<string, readonly string[]>>;

const SECRET_BYTES = 64 * 1024;

export function secretsContext(accountId: number): string {
  return `command.secrets:${accountId}`;
}

export function sealSecrets(keys: KeyRing, accountId: number, secrets: CommandSecrets, values: MacroValues): Buffer {
  const filled = Object.entries(secrets).map(([name, texts]): [string, string[]] => [
    name,
    texts.map((text) => fillMacros(text, values, name, SECRET_BYTES)),
  ]);
  return keys.seal(Buffer.from(JSON.stringify(Object.fromEntries(filled))), secretsContext(accountId));
}

export function openSecrets(keys: KeyRing, accountId: number, sealed: Buffer): CommandSecrets {
  return JSON.parse(keys.open(sealed, secretsContext(accountId)).toString("utf8")) as CommandSecrets; // from sealSecrets
}
