import { sealContext, type SealedColumn } from "../../db/sealed-column.ts";
import type { KeyRing } from "../../lib/key-ring.ts";

/** The texts of a command that contain credentials, by their names in `command`, with macros filled in. */
export interface CommandSecrets {
  sub_command_args?: string;
  /** Written by earlier versions, in the order of the masks; mask-stored-copies.ts replaces it. */
  encryptionKey?: readonly string[];
}

export const secretsColumn: SealedColumn = { table: "command", column: "secrets", accountColumn: "account_id" };

export function sealSecrets(keys: KeyRing, accountId: number, secrets: CommandSecrets): Buffer {
  return keys.seal(Buffer.from(JSON.stringify(secrets)), sealContext(secretsColumn, accountId));
}

export function openSecrets(keys: KeyRing, accountId: number, sealed: Buffer): CommandSecrets {
  const opened = keys.open(sealed, sealContext(secretsColumn, accountId));
  return JSON.parse(opened.toString("utf8")) as CommandSecrets; // from sealSecrets
}
