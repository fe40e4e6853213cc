import { chmod, chown, mkdir, open, writeFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Identity } from "./confined-program.ts";
import { userFiles } from "./bubblewrap-arguments.ts";

/** The folders of one confined program, which have the same path inside and outside the sandbox. */
export interface ConfinedFolders {
  /** The working folder, writable. */
  readonly work: string;
  /** Input files, read-only. */
  readonly input: string;
  /** Mounted as /tmp. */
  readonly tmp: string;
  /** The passwd and group files that the program sees. */
  readonly user: string;
}

export function confinedFolders(folder: string): ConfinedFolders {
  const inside = (name: string): string => join(folder, name);
  return { work: inside("work"), input: inside("input"), tmp: inside("tmp"), user: inside("user") };
}

/** `levels`: as root, how many parent folders the program's user must be able to traverse. */
export async function makeConfinedFolders(
  folder: string,
  { name, identity, levels }: { name: string; identity: Identity | undefined; levels: number },
): Promise<ConfinedFolders> {
  const folders = confinedFolders(folder);
  await mkdir(folder, { recursive: true, mode: 0o711 });
  if (identity !== undefined) await makeTraversable(folder, levels);
  for (const each of [folders.work, folders.input, folders.tmp]) await makeOwnedFolder(each, identity);
  const self = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  await writeUserFiles(folders.user, { ...self, name, home: folders.work });
  return folders;
}

export async function makeOwnedFolder(folder: string, identity: Identity | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (identity !== undefined) await chown(folder, identity.uid, identity.gid);
}

/** Lets other users traverse the folder and `levels` of its parents, but not read them, whatever the umask is. */
export async function makeTraversable(from: string, levels: number): Promise<void> {
  let folder = from;
  for (let level = 0; level <= levels; level += 1) {
    await chmod(folder, 0o711);
    folder = dirname(folder);
  }
}

/**
 * Readable only by the program's user, so the contents may be secret. The folder belongs to that user, who can replace an
 * entry by a link at any time, so the owner is changed by the open file and not by its path.
 */
export async function writeInput(
  folder: string,
  contents: Readonly<Record<string, string>>,
  identity: Identity | undefined,
): Promise<void> {
  for (const [name, content] of Object.entries(contents)) {
    const file = await open(join(folder, name), "wx", 0o600);
    try {
      await file.writeFile(content);
      if (identity !== undefined) await file.chown(identity.uid, identity.gid);
    } finally {
      await file.close();
    }
  }
}

interface SandboxUser extends Identity {
  readonly name: string;
  /** Path inside the sandbox. */
  readonly home: string;
}

/**
 * Writes the passwd and group files that the program sees, because Java does not run under a uid without a name. All
 * users can read them, whatever the umask is, because bubblewrap opens them as the program's user.
 */
export async function writeUserFiles(folder: string, user: SandboxUser): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  const texts = renderUserFiles(user);
  for (const name of userFiles) {
    const path = join(folder, name);
    await writeFile(`${path}.new`, texts[name]);
    await chmod(`${path}.new`, 0o644);
    await rename(`${path}.new`, path);
  }
}

function renderUserFiles({ uid, gid, name, home }: SandboxUser): Record<(typeof userFiles)[number], string> {
  return {
    passwd: `${name}:x:${uid}:${gid}:${name}:${home}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n`,
    group: `${name}:x:${gid}:\nnogroup:x:65534:\n`,
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  };
}
