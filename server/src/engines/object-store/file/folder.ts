import { constants } from "node:fs";
import { lstat, mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * An open folder whose entries are reached relative to it, never by a path from the root of the machine. Whoever may
 * write below the root could otherwise swap a folder for a symbolic link between our check and our use, and a server
 * that runs as root would follow it out. Linux gives this by `/proc/self/fd`; elsewhere the path is checked entry by
 * entry, which leaves that race open (there the server does not run programs of several users).
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

  /** The root itself may be, or lie behind, a link: that is the operator's choice. */
  static async openRoot(path: string): Promise<Folder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return new Folder(handle, path, await handle.stat());
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The way to an entry, good until this folder is closed. */
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
      // Linux says ENOTDIR of both.
      throw isCode(error, "ENOTDIR") && (await lstat(path)).isSymbolicLink() ? linkError() : error;
    }
  }

  /** As `enter`, making the folder where it is missing. */
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
   * As root, new files and folders are given to the owner of the store's root. The owner of the folder above does not
   * count: another call may have made that folder a moment ago and not handed it over yet.
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
