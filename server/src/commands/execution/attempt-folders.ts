import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeOwnedFolder, makeTraversable } from "../../engines/sandbox/confined-folders.ts";
import type { Identity } from "../../engines/sandbox/confined-program.ts";
import { writeUserFiles } from "../../engines/sandbox/user-files.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import type { AttemptFiles } from "./command-files.ts";

const FIRST_UID = 200_000;

/** The uid of the account's processes. Undefined: the server does not run as root, so they have its own uid. */
export function accountIdentity(accountId: number, ownUid = process.getuid?.() ?? 0): Identity | undefined {
  return ownUid === 0 ? { uid: FIRST_UID + accountId, gid: FIRST_UID + accountId } : undefined;
}

/** The name of the user that programs of the account run as. */
export function accountUserName(accountId: number): string {
  return `account${accountId}`;
}

/** The roster of the account's programs and queries on this node. */
export function accountRoster(dataDir: string, accountId: number): string {
  return join(dataDir, "accounts", String(accountId), "running");
}

/** The folders of an attempt that its program sees. */
export interface ProgramFolders {
  readonly work: string;
  readonly events: string;
  readonly input: string;
  readonly tmp: string;
  /** The passwd and group files that name the program's user. */
  readonly user: string;
  /** The account's own storage. */
  readonly storage: string;
}

/** <data>/accounts/<account>/commands/<id>/attempts/<n>; a standby driver: <data>/accounts/<account>/standby/<name>. */
const ATTEMPT_DEPTH = 4;
const STANDBY_DEPTH = 2;

export function programFolders(folder: string, depth = ATTEMPT_DEPTH): ProgramFolders {
  const inside = (name: string): string => join(folder, name);
  return {
    work: inside("work"),
    events: inside("events"),
    input: inside("input"),
    tmp: inside("tmp"),
    user: inside("user"),
    storage: join(ancestor(folder, depth), "storage"),
  };
}

function ancestor(folder: string, levels: number): string {
  return levels === 0 ? folder : ancestor(dirname(folder), levels - 1);
}

export interface FolderOwner {
  readonly accountId: number;
  readonly identity: Identity | undefined;
  /** The home folder, as the program sees it. */
  readonly home: string;
}

/**
 * Makes the folders of an attempt, after removing those of an earlier claim. If the server runs as root, the program's
 * user can traverse the parent folders but not list them.
 */
export async function makeAttempt(folder: string, owner: FolderOwner): Promise<ProgramFolders> {
  await removeTree(folder);
  return makeFolders(folder, ATTEMPT_DEPTH, owner);
}

export async function makeStandby(folder: string, owner: FolderOwner): Promise<ProgramFolders> {
  return makeFolders(folder, STANDBY_DEPTH, owner);
}

/** Renames the folder of a standby driver to that of the attempt. Fails if it is gone. */
export async function moveStandby(from: string, attempt: string): Promise<ProgramFolders> {
  await removeTree(attempt);
  await mkdir(dirname(attempt), { recursive: true, mode: 0o711 });
  await rename(from, attempt);
  return programFolders(attempt);
}

async function makeFolders(
  folder: string,
  depth: number,
  { accountId, identity, home }: FolderOwner,
): Promise<ProgramFolders> {
  const folders = programFolders(folder, depth);
  await mkdir(folder, { recursive: true, mode: 0o711 });
  if (identity !== undefined) await makeTraversable(folder, depth + 1); // up to `accounts`
  for (const each of [folders.work, folders.events, folders.input, folders.tmp, folders.storage]) {
    await makeOwnedFolder(each, identity);
  }
  const self = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  await writeUserFiles(folders.user, { ...self, name: accountUserName(accountId), home });
  return folders;
}

/** Keeps output, log and event log. */
export async function tidyAttempt(files: AttemptFiles): Promise<void> {
  const { work, input, tmp, user } = programFolders(files.folder);
  for (const folder of [work, input, tmp, user]) await removeTree(folder);
}
