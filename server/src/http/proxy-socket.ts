/**
 * The Unix socket for a proxy on the same machine (`HEADGATE_PROXY_SOCKET`). Every user who can enter its folder can
 * connect, so the folder decides: the start is refused if other users can enter it, or if users' programs see it. The
 * caller holds the lock of the data directory, so a socket there that refuses connections was left by a crash.
 */
import { once } from "node:events";
import { realpathSync, rmSync, statSync, type Stats } from "node:fs";
import { connect, type Server } from "node:net";
import { dirname, sep } from "node:path";
import { Fault } from "../lib/fault.ts";

export interface ProxySocket {
  readonly path: string;
  /** Folders that users' programs see. */
  readonly shownFolders: readonly string[];
}

const GROUP_WRITE_OR_OTHERS = 0o027;

/** Throws a fault that says what to do if the socket would not be safe. */
export async function listenForProxy(listener: Server, { path, shownFolders }: ProxySocket): Promise<void> {
  checkFolder(dirname(path), shownFolders);
  await removeLeftover(path);
  try {
    await once(listener.listen({ path, writableAll: true }), "listening");
  } catch (cause) {
    if (codeOf(cause) !== "EACCES") throw cause;
    throw refused(`the user of Headgate cannot create files in ${dirname(path)}: ${remedy(dirname(path))}`, cause);
  }
}

function checkFolder(folder: string, shownFolders: readonly string[]): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) throw refused(`the folder ${folder} does not exist: ${remedy(folder)}`);
  if (!isPrivate(found)) throw refused(`other users can enter or change the folder ${folder}: ${remedy(folder)}`);
  const real = `${realpathSync(folder)}${sep}`;
  const shown = shownFolders.find((each) => real.startsWith(`${realPathOf(each)}${sep}`));
  if (shown !== undefined) {
    throw refused(`users' programs see ${shown}: choose a folder outside it, such as /run/headgate`);
  }
}

/** The group may enter, but only the owner may replace the socket. */
function isPrivate({ uid, mode }: Stats): boolean {
  return [0, process.getuid?.()].includes(uid) && (mode & GROUP_WRITE_OR_OTHERS) === 0;
}

function remedy(folder: string): string {
  return (
    `as root, run install -d -m 0750 -o <the user of Headgate> -g <the group of the proxy> ${folder}, ` +
    "so that only these two can enter it"
  );
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not there yet
  }
}

async function removeLeftover(path: string): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw refused(`${path} exists and is not a socket: remove it or choose another path`);
  if (!(await refusesConnections(path))) {
    throw refused(`another program listens on ${path}: stop it, remove the socket, or choose another path`);
  }
  rmSync(path);
}

/** A program that is stopped or busy also accepts no connection, but with another error. */
async function refusesConnections(path: string): Promise<boolean> {
  const probe = connect(path);
  try {
    await once(probe, "connect");
    return false;
  } catch (error) {
    return codeOf(error) === "ECONNREFUSED";
  } finally {
    probe.destroy();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function refused(why: string, cause?: unknown): Fault {
  return new Fault("invalid", `HEADGATE_PROXY_SOCKET: ${why}`, { cause });
}
