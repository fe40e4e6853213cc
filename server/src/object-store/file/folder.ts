import { constants } from "node:fs";
import { lstat, mkdir, open, type FileHandle, rmdir } from "node:fs/promises";
import { join } from "node:path";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * An open folder whose entries are accessed relative to its descriptor, never by an absolute path. Otherwise a user who
 * can write below the root could replace a folder by a symbolic link between check and use, and a server that runs as
 * root would follow it. On Linux, `/proc/self/fd` makes this possible. On other systems each path is only checked, which
 * leaves that race open, but there the server does not run programs of several users.
 */
export class Folder {
  readonly #handle: FileHandle;
  readonly #path: string;
  readonly #owner: Owner;

  private constructor(handle: FileHandle, path: string, owner: Owner) {
    this.#handle = handle;
    this.#path = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : path;
    this.#owner = owner;
  }

  /** The path of the root may contain links: that is the operator's choice. */
  static async openRoot(path: string): Promise<Folder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return new Folder(handle, path, await handle.stat());
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The path of an entry, valid until this folder is closed. */
  entry(name: string): string {
    return join(this.#path, name);
  }

  get path(): string {
    return this.#path;
  }

  /** Rejects with ENOTDIR on a file and with ELOOP on a symbolic link. */
  async enter(name: string): Promise<Folder> {
    const path = this.entry(name);
    if (process.platform !== "linux" && (await lstat(path)).isSymbolicLink()) throw linkError();
    try {
      const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      return new Folder(handle, path, this.#owner);
    } catch (error) {
      // Linux reports ENOTDIR for both.
      throw isCode(error, "ENOTDIR") && (await lstat(path)).isSymbolicLink() ? linkError() : error;
    }
  }

  /** Like `enter`, but creates the folder if it is missing. */
  async enterOrMake(name: string): Promise<Folder> {
    await mkdir(this.entry(name), { mode: 0o750 }).catch((error: unknown) => {
      if (!isCode(error, "EEXIST")) throw error;
    });
    const folder = await this.enter(name);
    try {
      await this.handOver(folder.#handle);
    } catch (error) {
      await folder.close();
      throw error;
    }
    return folder;
  }

  /**
   * If we run as root, gives new files and folders to the owner of the store's root. The owner of the parent folder does
   * not count, because a concurrent call may have just created that folder.
   */
  async handOver(made: FileHandle): Promise<void> {
    if (process.getuid?.() !== 0) return;
    const { uid } = await made.stat();
    if (uid === 0) await made.chown(this.#owner.uid, this.#owner.gid);
  }

  async sync(): Promise<void> {
    await this.#handle.sync();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

function linkError(): NodeJS.ErrnoException {
  return Object.assign(new Error("a symbolic link"), { code: "ELOOP", syscall: "open" });
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/**
 * Removes these nested folders from the innermost one outwards, as long as they are empty, because an object store has no
 * empty folders. Links are not followed.
 */
export async function pruneFolders(rootDir: string, names: readonly string[]): Promise<void> {
  const opened: Folder[] = [];
  try {
    let folder = await Folder.openRoot(rootDir);
    opened.push(folder);
    for (const name of names.slice(0, -1)) {
      folder = await folder.enter(name);
      opened.push(folder);
    }
    for (const [at, name] of [...names.entries()].toReversed()) await rmdir(opened[at]?.entry(name) ?? "");
  } catch {
    // Already gone, a link, or not empty.
  } finally {
    await Promise.all(opened.map((folder) => folder.close()));
  }
}
