import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Identity } from "./confined-program.ts";
import { writeUserFiles } from "./user-files.ts";

/** The folders of one confined program, under the same path inside and outside of its sandbox. */
export interface ConfinedFolders {
  /** Its current folder, writable. */
  readonly work: string;
  /** What it is told; read-only. */
  readonly input: string;
  /** Becomes /tmp. */
  readonly tmp: string;
  /** Who it is, for itself. */
  readonly user: string;
}

export function confinedFolders(folder: string): ConfinedFolders {
  const inside = (name: string): string => join(folder, name);
  return { work: inside("work"), input: inside("input"), tmp: inside("tmp"), user: inside("user") };
}

/**
 * `levels`: how many folders above have to be passable for the program's user, as root: closed for reading and open for
 * passing, whatever our umask is.
 */
export async function makeConfinedFolders(
  folder: string,
  { name, identity, levels }: { name: string; identity: Identity | undefined; levels: number },
): Promise<ConfinedFolders> {
  const folders = confinedFolders(folder);
  await mkdir(folder, { recursive: true, mode: 0o711 });
  if (identity !== undefined) await openTheWay(folder, levels);
  for (const each of [folders.work, folders.input, folders.tmp]) await makeOwned(each, identity);
  const self = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  await writeUserFiles(folders.user, { ...self, name, home: folders.work });
  return folders;
}

export async function makeOwned(folder: string, identity: Identity | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (identity !== undefined) await chown(folder, identity.uid, identity.gid);
}

/** The folder itself and so many above. */
export async function openTheWay(from: string, levels: number): Promise<void> {
  let folder = from;
  for (let level = 0; level <= levels; level += 1) {
    await chmod(folder, 0o711);
    folder = dirname(folder);
  }
}

/** For the program's user alone: secrets belong here. */
export async function writeInput(
  folder: string,
  contents: Readonly<Record<string, string>>,
  identity: Identity | undefined,
): Promise<void> {
  for (const [name, content] of Object.entries(contents)) {
    const path = join(folder, name);
    await writeFile(path, content, { mode: 0o600, flag: "wx" });
    if (identity !== undefined) await chown(path, identity.uid, identity.gid);
  }
}
