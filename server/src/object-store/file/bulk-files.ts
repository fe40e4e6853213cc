import { execFile } from "node:child_process";
import {
  close,
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  read,
  readSync,
  renameSync,
  rmSync,
  unlinkSync,
  write,
  writeSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ObjectStoreError } from "../object-store-error.ts";
import { fileFailure } from "./file-failure.ts";
import { unfinishedName } from "./list-files.ts";
import { OpenFolders } from "./open-folders.ts";
import { temporaryName } from "./temporary-name.ts";

export interface BulkFile {
  /** Below the root, without a leading slash. */
  readonly path: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** Bytes of a file, and its size and time after they were read: the caller compares them with those it expects. */
export interface ReadPiece extends Omit<BulkFile, "path"> {
  readonly bytes: Buffer;
}

/** A file that is being written. It is invisible until `finish`. */
export interface UnfinishedFile {
  write(bytes: Buffer, position: number): Promise<void>;
  finish(): Promise<void>;
  /** Removes what was written. */
  discard(): Promise<void>;
}

/** Gets the complete new contents before they replace a file. */
export interface BeforeReplacing {
  readonly small: (descriptor: number, path: string) => void;
  readonly large: (descriptor: number, path: string) => Promise<void>;
}

export const syncContents: BeforeReplacing = {
  small: (descriptor) => fdatasyncSync(descriptor),
  large: (descriptor) => promisify(fdatasync)(descriptor),
};

const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
const PAGE_FILES = 1000;
/** Larger reads are worth the cost of a thread. */
const BLOCKING_READ_BYTES = 256 * 1024;

/**
 * Reads and writes many files below a root, for a process that does nothing else: calls for small files block, because
 * asynchronous ones take ten times as long. Written files are durable only after `sync`. Like `fileStore`, it follows no
 * links.
 */
export class BulkFiles {
  readonly #root: string;
  /** Determines the names of temporary files, so that a later process finds those of a killed one. */
  readonly #salt: string;
  readonly #folders: OpenFolders;
  readonly #beforeReplacing: BeforeReplacing | undefined;

  /** `beforeReplacing`: undefined if no file is replaced, or old contents may be lost in a power failure. */
  constructor(rootDir: string, salt: string, beforeReplacing?: BeforeReplacing) {
    this.#root = rootDir;
    this.#salt = salt;
    this.#beforeReplacing = beforeReplacing;
    this.#folders = new OpenFolders(rootDir);
  }

  /** All files below a folder in pages, in no order. None if the folder does not exist. */
  *list(folderPath: string): Generator<readonly BulkFile[]> {
    let page: BulkFile[] = [];
    const pending = [folderPath];
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      const base = path === "" ? "" : `${path}/`;
      for (const { name, stats } of this.#entriesOf(path)) {
        if (stats.isDirectory()) pending.push(`${base}${name}`);
        if (!stats.isFile() || unfinishedName.test(name)) continue;
        page.push({ size: stats.size, modifiedMs: stats.mtimeMs, path: `${base}${name}` });
        if (page.length < PAGE_FILES) continue;
        yield page;
        page = [];
      }
    }
    if (page.length > 0) yield page;
  }

  isFolder(path: string): boolean {
    return ifThere(() => inSubject(path, () => this.#folders.enter(path, "enter"))) !== undefined;
  }

  stat(path: string): BulkFile {
    return inSubject(path, () => checked(path, lstatSync(this.#entry(path, "enter"))));
  }

  /** Reads `length` bytes from `position` into the given memory; fewer only where the file ends. */
  async read(
    path: string,
    position: number,
    length: number,
    bytes: Buffer = Buffer.allocUnsafeSlow(length),
  ): Promise<ReadPiece> {
    const descriptor = inSubject(path, () => openSync(this.#entry(path, "enter"), READ_FLAGS));
    try {
      inSubject(path, () => checked(path, fstatSync(descriptor)));
      const isSmall = length <= BLOCKING_READ_BYTES;
      let filled = 0;
      for (let count = -1; count !== 0 && filled < length; filled += count) {
        count = isSmall
          ? readSync(descriptor, bytes, filled, length - filled, position + filled)
          : await readAt(descriptor, bytes.subarray(0, length), filled, position + filled);
      }
      const { size, modifiedMs } = checked(path, fstatSync(descriptor));
      return { bytes: bytes.subarray(0, filled), size, modifiedMs };
    } catch (error) {
      throw fileFailure(path, error);
    } finally {
      closeSync(descriptor);
    }
  }

  /** Writes a small file in one blocking call. */
  write(path: string, bytes: Buffer): void {
    inSubject(path, () => {
      const temporary = this.#entry(path, "make", this.#temporaryName(path));
      const descriptor = openSync(temporary, CREATE_FLAGS, 0o640);
      try {
        for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
        if (this.#isReplacing(path)) this.#beforeReplacing?.small(descriptor, path);
      } catch (error) {
        unlinkSync(temporary);
        throw error;
      } finally {
        closeSync(descriptor);
      }
      this.#rename(path, temporary);
    });
  }

  create(path: string): UnfinishedFile {
    const temporary = this.#temporaryName(path);
    const descriptor = inSubject(path, () => openSync(this.#entry(path, "make", temporary), CREATE_FLAGS, 0o640));
    let isOpen = true;
    const closeOnce = async (): Promise<void> => {
      if (!isOpen) return;
      isOpen = false; // the descriptor may belong to another file from now on
      await promisify(close)(descriptor);
    };
    return {
      write: (bytes, position) =>
        writeAt(descriptor, bytes, position).catch((error: unknown) => {
          throw fileFailure(path, error);
        }),
      finish: async () => {
        if (inSubject(path, () => this.#isReplacing(path))) await this.#beforeReplacing?.large(descriptor, path);
        await closeOnce();
        inSubject(path, () => this.#rename(path, this.#entry(path, "make", temporary)));
      },
      discard: async () => {
        await closeOnce();
        this.removeUnfinished(path);
      },
    };
  }

  /** Succeeds if there is no such file. */
  remove(path: string): void {
    ifThere(() => inSubject(path, () => unlinkSync(this.#entry(path, "enter"))));
  }

  /** Removes what a killed process has written for this path. */
  removeUnfinished(path: string): void {
    ifThere(() => inSubject(path, () => unlinkSync(this.#entry(path, "enter", this.#temporaryName(path)))));
  }

  /** Makes everything written so far durable, with one call for the whole file system. */
  async sync(): Promise<void> {
    await promisify(execFile)("sync", ["-f", this.#root], { env: { PATH: "/usr/bin:/bin" } });
  }

  close(): void {
    this.#folders.close();
  }

  /** A rename may reach the disk before the contents: a power failure would then leave neither the old nor the new ones. */
  #isReplacing(path: string): boolean {
    if (this.#beforeReplacing === undefined) return false;
    return lstatSync(this.#entry(path, "make"), { throwIfNoEntry: false }) !== undefined;
  }

  #rename(path: string, temporary: string): void {
    try {
      renameSync(temporary, this.#entry(path, "make"));
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }

  /** Reads the folder piece by piece, because it may have millions of entries. Omits those that are removed meanwhile. */
  *#entriesOf(path: string): Generator<{ readonly name: string; readonly stats: Stats }> {
    const enter = (): string => this.#folders.enter(path, "enter");
    const folder = ifThere(() => inSubject(path, () => opendirSync(enter(), { bufferSize: PAGE_FILES })));
    if (folder === undefined) return;
    try {
      for (;;) {
        const entry = inSubject(path, () => folder.readSync());
        if (entry === null) return;
        const stats = lstatSync(join(enter(), entry.name), { throwIfNoEntry: false });
        if (stats !== undefined) yield { name: entry.name, stats };
      }
    } finally {
      folder.closeSync();
    }
  }

  /** A path that is valid in the current turn of the event loop. `name`: another file in the same folder. */
  #entry(path: string, mode: "enter" | "make", name = path.slice(path.lastIndexOf("/") + 1)): string {
    const own = path.slice(path.lastIndexOf("/") + 1);
    if (own === "" || own === "." || own === ".." || unfinishedName.test(own)) {
      throw new ObjectStoreError("bad-uri", `${path}: a file cannot have this name`);
    }
    return join(this.#folders.enter(path.slice(0, Math.max(0, path.length - own.length - 1)), mode), name);
  }

  #temporaryName(path: string): string {
    return temporaryName(this.#salt, path);
  }
}

function readAt(descriptor: number, into: Buffer, offset: number, position: number): Promise<number> {
  return new Promise((settle, fail) => {
    read(descriptor, into, offset, into.length - offset, position, (error, count) =>
      error === null ? settle(count) : fail(error),
    );
  });
}

async function writeAt(descriptor: number, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await new Promise<number>((settle, fail) => {
      write(descriptor, bytes, at, bytes.length - at, position + at, (error, count) =>
        error === null ? settle(count) : fail(error),
      );
    });
  }
}

function checked(path: string, stats: Stats): BulkFile {
  if (stats.isSymbolicLink()) throw new ObjectStoreError("denied", `${path}: symbolic links are not followed`);
  if (stats.isDirectory()) throw new ObjectStoreError("missing", `${path}: a folder, not a file`);
  if (!stats.isFile()) throw new ObjectStoreError("denied", `${path}: not a regular file`);
  return { path, size: stats.size, modifiedMs: stats.mtimeMs };
}

function inSubject<T>(subject: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileFailure(subject, error);
  }
}

/** Undefined: the file or a folder of its path does not exist. */
function ifThere<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === "missing") return undefined;
    throw error;
  }
}
