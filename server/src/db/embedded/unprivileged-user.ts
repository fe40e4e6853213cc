import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { chown, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Fault } from "../../lib/fault.ts";

export interface UnprivilegedUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root. The user `nobody` exists everywhere; undefined means the user of this process. */
export function findUnprivilegedUser(): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const user = parsePasswd(readFileSync("/etc/passwd", "utf8"), "nobody");
  if (user !== undefined) return user;
  throw new Fault("invalid", "PostgreSQL does not run as root and /etc/passwd has no user nobody: set DATABASE_URL");
}

export function parsePasswd(passwd: string, name: string): UnprivilegedUser | undefined {
  for (const line of passwd.split("\n")) {
    const [login, , uid, gid] = line.split(":");
    // macOS spells the uid of `nobody` as -2, the kernel as 4294967294.
    if (login === name) return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  return undefined;
}

/** For `child_process`, whose uid and gid are signed. */
export function spawnIdentity(user: UnprivilegedUser | undefined): { uid?: number; gid?: number } {
  return user === undefined ? {} : { uid: user.uid | 0, gid: user.gid | 0 };
}

export async function giveTo(user: UnprivilegedUser | undefined, path: string): Promise<void> {
  if (user === undefined) return;
  await chown(path, user.uid, user.gid).catch((cause: unknown) => {
    const message = `${path} cannot be given to the user ${user.name} (CAP_CHOWN): start Headgate as an unprivileged user`;
    throw new Fault("invalid", message, { cause });
  });
}

/**
 * As root, other users must be able to traverse it to their own folders, whatever our umask is; private content has its
 * own modes. An existing folder keeps its mode.
 */
export function makeReachableFolder(path: string, setting: string): void {
  const first = makeFolder(path, setting);
  if (first === undefined || process.getuid?.() !== 0) return;
  for (let folder = resolve(path); folder.length >= resolve(first).length; folder = dirname(folder)) {
    chmodSync(folder, 0o711);
  }
}

function makeFolder(path: string, setting: string): string | undefined {
  try {
    return mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `${setting}: ${path} cannot be created (${why}). Give this user write permission, or set another folder.`;
    throw new Fault("invalid", message, { cause });
  }
}

/**
 * A user that cannot enter one of the parent folders sees nothing below it, and PostgreSQL's own message does not say
 * so.
 */
export async function assertReachable(
  user: UnprivilegedUser | undefined,
  path: string,
  setting: string,
): Promise<void> {
  if (user === undefined) return;
  const blocking = await findBlockingAncestor(user, path);
  if (blocking === undefined) return;
  throw new Fault(
    "invalid",
    `PostgreSQL runs as the user ${user.name}, who cannot enter ${blocking}: point ${setting} somewhere else, ` +
      `or run chmod o+x ${blocking}`,
  );
}

async function findBlockingAncestor(user: UnprivilegedUser, path: string): Promise<string | undefined> {
  const ancestors: string[] = [];
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    ancestors.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of ancestors) {
    const { uid, gid, mode } = await stat(folder);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return folder;
  }
  return undefined;
}
