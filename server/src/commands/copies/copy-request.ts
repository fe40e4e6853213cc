import type { AccountStorage } from "../../accounts/contract.ts";
import type { Queryable } from "../../db/database.ts";
import type { CopyRequest } from "../../engines/s3-copy/copy-request.ts";
import { notFound } from "../../lib/fault.ts";
import type { KeyRing } from "../../lib/key-ring.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { openSecrets } from "../credential-masking/command-secrets.ts";
import { findCopy, type StoredCopy } from "../store/copies.ts";
import { fillMacros, macroValues } from "../submission/macros.ts";
import { ARGUMENTS_BYTES } from "../submission/plan.ts";

export interface RequestServices {
  readonly db: Queryable;
  readonly keys: KeyRing;
  readonly storage: Pick<AccountStorage, "settings">;
  readonly allowedNetworks: readonly string[];
}

/** The folders of a copy, as its process sees them. */
export type CopyFolders = Pick<CopyRequest, "journalFolder" | "scratchFolder">;

/** The most memory for contents of files at a time. */
export const BUFFER_MIB = 128;

/** The request contains keys in the clear, so it may only be written to the file that the process reads. */
export async function copyRequest(
  { db, keys, storage, allowedNetworks }: RequestServices,
  commandId: number,
  folders: CopyFolders,
): Promise<CopyRequest> {
  const copy = await findCopy(db, commandId);
  if (copy === undefined) throw notFound("Command", commandId);
  return {
    words: splitWords(argumentsOf(copy, keys), FIELD),
    account: await storage.settings(copy.accountId),
    allowedNetworks,
    ...folders,
    bufferMiB: BUFFER_MIB,
  };
}

const FIELD = "sub_command_args";

/** Arguments with credentials are sealed as a whole, with their macros filled in. */
function argumentsOf({ accountId, command, resolvedMacros, secrets }: StoredCopy, keys: KeyRing): string {
  const sealed = secrets === null ? undefined : openSecrets(keys, accountId, secrets).sub_command_args;
  return sealed ?? fillMacros(String(command[FIELD]), macroValues(resolvedMacros), FIELD, ARGUMENTS_BYTES);
}
