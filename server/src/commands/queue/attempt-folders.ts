import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeUserFiles } from "../../engines/sandbox/user-files.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import type { AttemptFiles } from "../command-files.ts";

export interface UnixIdentity {
  readonly uid: number;
  readonly gid: number;
}

const FIRST_UID = 200_000;

/** As root every account has a uid of its own; otherwise all is ours. */
export function accountIdentity(accountId: number, ownUid = process.getuid?.() ?? 0): UnixIdentity | undefined {
  return ownUid === 0 ? { uid: FIRST_UID + accountId, gid: FIRST_UID + accountId } : undefined;
}

/** What of an attempt the program sees, all under the same path inside and outside of the sandbox. */
export interface ProgramFolders {
  readonly work: string;
  readonly events: string;
  readonly input: string;
  readonly tmp: string;
  /** Who the program is, for itself. */
  readonly user: string;
  /** The account's own storage. */
  readonly storage: string;
}

export function programFolders(files: AttemptFiles): ProgramFolders {
  const inAttempt = (name: string): string => join(files.folder, name);
  // <data>/accounts/<account>/commands/<id>/attempts/<n>
  const account = dirname(dirname(dirname(dirname(files.folder))));
  return {
    work: files.work,
    events: files.eventLogFolder,
    input: inAttempt("input"),
    tmp: inAttempt("tmp"),
    user: inAttempt("user"),
    storage: join(account, "storage"),
  };
}

/**
 * Makes the attempt anew: what a claim that never began has left goes away. The folders on the way are closed for
 * reading and open for passing, because as root the program's user has to get through them.
 */
export async function makeAttempt(
  files: AttemptFiles,
  accountId: number,
  identity: UnixIdentity | undefined,
): Promise<ProgramFolders> {
  const folders = programFolders(files);
  await removeTree(files.folder);
  await mkdir(files.folder, { recursive: true, mode: 0o711 });
  if (identity !== undefined) await openTheWay(files.folder);
  for (const folder of [folders.work, folders.events, folders.input, folders.tmp, folders.storage]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (identity !== undefined) await chown(folder, identity.uid, identity.gid);
  }
  const self = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  await writeUserFiles(folders.user, { ...self, name: `account${accountId}`, home: folders.work });
  return folders;
}

/** Whatever our umask is. */
async function openTheWay(attempt: string): Promise<void> {
  let folder = attempt;
  // n, attempts, <id>, commands, <account>, accounts
  for (let level = 0; level < 6; level += 1) {
    await chmod(folder, 0o711);
    folder = dirname(folder);
  }
}

export async function writeInput(
  folder: string,
  contents: Readonly<Record<string, string>>,
  identity: UnixIdentity | undefined,
): Promise<void> {
  for (const [name, content] of Object.entries(contents)) {
    const path = join(folder, name);
    await writeFile(path, content, { mode: 0o600, flag: "wx" });
    if (identity !== undefined) await chown(path, identity.uid, identity.gid);
  }
}

/** Output, log and event log stay. */
export async function tidyAttempt(files: AttemptFiles): Promise<void> {
  const { work, input, tmp, user } = programFolders(files);
  for (const folder of [work, input, tmp, user]) await removeTree(folder);
}
