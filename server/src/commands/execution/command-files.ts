/**
 * The paths of a command's files. The folder of the command and the files of the runner (spec, status) belong to the
 * server, and the program cannot read them. In the folder of an attempt, only `work` and `events` belong to the account's
 * user.
 */
import { join, dirname } from "node:path";
import { mkdir, rename } from "node:fs/promises";
import { makeOwnedFolder, makeTraversable, writeUserFiles } from "../../processes/sandbox/confined-folders.ts";
import type { Identity } from "../../processes/sandbox/confined-program.ts";
import { removeTree, removeTrees } from "../../processes/tree-removal/remove-tree.ts";

export interface CommandFiles {
  readonly folder: string;
  /** Counts from 1. */
  attempt(number: number): AttemptFiles;
  /** The output of the last attempt. A command that never ran has the attempt 0, without files. */
  output(lastAttempt: number): string;
  /** The log of the last attempt. */
  log(lastAttempt: number): string;
}

export interface AttemptFiles {
  readonly folder: string;
  /** Written by the server for the runner. */
  readonly spec: string;
  readonly status: string;
  /** Standard output, unchanged. */
  readonly output: string;
  /** Standard error, with the messages of the runner and the queue. */
  readonly log: string;
  /** Standard output of a copy, which is for the server and not for users. */
  readonly report: string;
  /** The program's current folder. */
  readonly work: string;
  readonly eventLogFolder: string;
  /** The name of the Spark application, and so of its event log. */
  readonly applicationId: string;
  readonly eventLog: string;
}

export function commandFiles(dataDir: string, accountId: number, commandId: number): CommandFiles {
  const folder = join(dataDir, "accounts", String(accountId), "commands", String(commandId));
  const attempt = (number: number): AttemptFiles => {
    const own = join(folder, "attempts", String(number));
    const applicationId = `command-${commandId}-${number}`;
    const eventLogFolder = join(own, "events");
    return {
      folder: own,
      spec: join(own, "spec.json"),
      status: join(own, "status.json"),
      output: join(own, "output"),
      log: join(own, "log"),
      report: join(own, "report.jsonl"),
      work: join(own, "work"),
      eventLogFolder,
      applicationId,
      eventLog: join(eventLogFolder, applicationId),
    };
  };
  return {
    folder,
    attempt,
    output: (lastAttempt) => attempt(lastAttempt).output,
    log: (lastAttempt) => attempt(lastAttempt).log,
  };
}

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

interface FolderOwner {
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
  await removeTrees([work, input, tmp, user]);
}
