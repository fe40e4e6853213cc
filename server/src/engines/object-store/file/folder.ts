import { constants } from "node:fs";
import { lstat, mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

/**
 * An open folder whose entries are reached relative to it, never by a path from the root of the machine. Whoever may
 * write below the root could otherwise swap a folder for a symbolic link between our check and our use, and a server
 * that runs as root would follow it out. Linux gives this by `/proc/self/fd`; elsewhere the path is checked entry by
 * entry, which leaves that race open (there the server does not run programs of several users).
 */
export class Folder {
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : path;
  }

  /** The root itself may be, or lie behind, a link: that is the operator's choice. */
  static async openRoot(path: string): Promise<Folder> {
    return new Folder(await open(path, constants.O_RDONLY | constants.O_DIRECTORY), path);
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
      return new Folder(await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW), path);
    } catch (error) {
      // Linux says ENOTDIR of both.
      throw isCode(error, "ENOTDIR") && (await lstat(path)).isSymbolicLink() ? linkError() : error;
    }
  }

  /** As `enter`, making the folder where it is missing; it then belongs to the owner of this one. */
  async enterOrMake(name: string): Promise<Folder> {
    const isNew = await mkdir(this.entry(name), { mode: 0o750 }).then(
      () => true,
      (error: unknown) => {
        if (isCode(error, "EEXIST")) return false;
        throw error;
      },
    );
    const folder = await this.enter(name);
    if (isNew) await this.handOver(folder.#handle);
    return folder;
  }

  /** Root writes for somebody: what it makes belongs to whoever owns the folder. */
  async handOver(made: FileHandle): Promise<void> {
    if (process.getuid?.() !== 0) return;
    const { uid, gid } = await this.#handle.stat();
    await made.chown(uid, gid);
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
