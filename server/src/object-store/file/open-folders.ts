import { closeSync, constants, lstatSync, mkdirSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import { LRUCache } from "lru-cache";
import { ObjectStoreError } from "../object-store-error.ts";

const MAX_OPEN = 256;
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

interface OpenFolder {
  readonly descriptor: number;
  readonly path: string;
}

/**
 * Keeps recently used folders below a root open, so that their entries are reached relative to a descriptor and no link is
 * followed (see `Folder`). All calls block: a path that this class returns is valid only until the event loop's next turn,
 * because the descriptor may be closed then and its number reused.
 */
export class OpenFolders {
  readonly #root: string;
  readonly #open = new LRUCache<string, OpenFolder>({
    max: MAX_OPEN,
    dispose: ({ descriptor }) => closeSync(descriptor),
  });

  constructor(rootDir: string) {
    this.#root = resolve(rootDir);
  }

  /** `path`: below the root, empty for the root itself. */
  enter(path: string, mode: "enter" | "make"): string {
    const known = this.#open.get(path);
    if (known !== undefined) return known.path;
    const slash = path.lastIndexOf("/");
    const outer = path === "" ? undefined : this.enter(slash === -1 ? "" : path.slice(0, slash), mode);
    const opened = outer === undefined ? open(this.#root, "root") : enterBelow(outer, path.slice(slash + 1), mode);
    this.#open.set(path, opened);
    return opened.path;
  }

  close(): void {
    this.#open.clear();
  }
}

function enterBelow(outer: string, name: string, mode: "enter" | "make"): OpenFolder {
  if (name === "" || name === "." || name === "..") {
    throw new ObjectStoreError("bad-uri", `${JSON.stringify(name)} is not the name of a folder`);
  }
  const path = join(outer, name);
  if (mode === "make") makeFolder(path);
  if (process.platform !== "linux" && lstatSync(path).isSymbolicLink()) throw linkError();
  try {
    return open(path, "inner");
  } catch (error) {
    // Linux reports ENOTDIR for a link.
    throw isCode(error, "ENOTDIR") && lstatSync(path).isSymbolicLink() ? linkError() : error;
  }
}

/** The root's own path may contain links: that is the operator's choice. */
function open(path: string, which: "root" | "inner"): OpenFolder {
  const descriptor = openSync(path, which === "root" ? FOLDER_FLAGS & ~constants.O_NOFOLLOW : FOLDER_FLAGS);
  return { descriptor, path: process.platform === "linux" ? `/proc/self/fd/${descriptor}` : path };
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o750 });
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  }
}

function linkError(): NodeJS.ErrnoException {
  return Object.assign(new Error("a symbolic link"), { code: "ELOOP", syscall: "open" });
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
