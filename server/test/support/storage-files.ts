import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { storageFolder } from "../../src/accounts/account-storage.ts";
import { accountIdentity } from "../../src/commands/execution/command-files.ts";

/** Writes a file into the folder of an account's storage on the server, as the account's programs would. */
export function putStorageFile(dataDir: string, accountId: number, name: string, text: string): string {
  const root = storageFolder(dataDir, accountId);
  const file = join(root, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  const identity = accountIdentity(accountId);
  for (let path = file; identity !== undefined && path.startsWith(root); path = dirname(path)) {
    chownSync(path, identity.uid, identity.gid);
  }
  chmodSync(file, 0o600);
  return file;
}
