/**
 * Removes a file or folder that programs may be changing at the same time. Each folder is opened relative to the
 * descriptor of its parent, without following links, so a program that replaces a folder by a link cannot redirect the
 * removal. If the server runs as root, the entries of a folder are also removed with the user id of the folder's owner,
 * who could have removed them too. File systems that are mounted inside are emptied, too. The folder that contains `path`, and its parents, must belong to the server.
 */
import { closeSync, fchmodSync, fstatSync, lstatSync, opendirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { folderPath, openedMode, openFolder, pathBytes } from "../../lib/open-folder.ts";

const ENTRIES_PER_STEP = 64;
/** Deeper folders are moved up first, because each level takes descriptors. */
const MAX_DEPTH = 32;
/** Gives up after this time, because a program may add entries as fast as they are removed. */
const MAX_DURATION_MS = 5 * 60_000;

interface Folder {
  readonly descriptor: number;
  readonly path: string;
  readonly depth: number;
  /** The outermost folder around it with the same owner. */
  readonly base: Folder | undefined;
  readonly owner: { readonly uid: number; readonly gid: number };
}

interface Removal {
  isLate(): boolean;
  /** The first error. One that an entry changed by a program has caused does not matter if the entry is gone in the end. */
  error: Error | undefined;
  /** Entries removed or moved up; a pass without progress is the last. */
  removed: number;
}

/**
 * A generator that yields after every few entries, so that the caller can take turns. Throws if something remains.
 * `path`: latin1, one character per byte.
 */
export function* removeEntry(path: string, now: () => number = () => performance.now()): Generator<undefined, void> {
  const stats = lstatSync(pathBytes(path), { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) return unlinkSync(pathBytes(path));
  const endsAt = now() + MAX_DURATION_MS;
  const removal: Removal = { isLate: () => now() > endsAt, removed: 0, error: undefined };
  if (yield* removeFolder(path, undefined, removal)) return;
  const failure = `${path} could not be removed`;
  if (removal.isLate()) throw new Error(`${failure} in time: there are too many files, or programs still add some`);
  throw removal.error ?? new Error(`${failure}: it is not empty`);
}

/** False: something remains. `outer`: undefined for the outermost folder. */
function* removeFolder(path: string, outer: Folder | undefined, removal: Removal): Generator<undefined, boolean> {
  let descriptor: number | undefined;
  try {
    descriptor = openFolder(path);
    const folder = inspect(descriptor, path, outer);
    if (folder.depth > MAX_DEPTH) return moveUp(path, folder, removal);
    // Programs may add entries meanwhile, and some file systems skip entries while others are being removed.
    for (let before = -1; before < removal.removed;) {
      before = removal.removed;
      yield* removeEntries(folder, removal);
      if (removal.isLate()) return false;
      if (changeEntries(outer, () => attempt(removal, () => rmdirSync(pathBytes(path))))) return true;
    }
  } catch (error) {
    if (isGone(error)) return true;
    note(removal, error); // or the folder was replaced by a file: the next pass over the outer folder sees that
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  return false;
}

function inspect(descriptor: number, path: string, outer: Folder | undefined): Folder {
  const { uid, gid } = fstatSync(descriptor);
  fchmodSync(descriptor, openedMode(descriptor));
  const base = uid === outer?.owner.uid ? (outer.base ?? outer) : undefined;
  return { descriptor, path, depth: (outer?.depth ?? 0) + 1, base, owner: { uid, gid } };
}

function* removeEntries(folder: Folder, removal: Removal): Generator<undefined, void> {
  const here = folderPath(folder.descriptor, folder.path);
  const entries = opendirSync(here, { encoding: "latin1", bufferSize: ENTRIES_PER_STEP });
  try {
    for (let batch = readBatch(entries); batch.length > 0 && !removal.isLate(); batch = readBatch(entries)) {
      const [folders, files] = [batch.filter(({ isFolder }) => isFolder), batch.filter(({ isFolder }) => !isFolder)];
      if (files.length > 0) {
        changeEntries(folder, () => {
          for (const { name } of files) attempt(removal, () => unlinkSync(inside(here, name)));
        });
      }
      yield;
      for (const { name } of folders) yield* removeFolder(`${here}/${name}`, folder, removal);
    }
  } finally {
    entries.closeSync();
  }
}

function readBatch(entries: ReturnType<typeof opendirSync>): { name: string; isFolder: boolean }[] {
  const batch = [];
  for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
    batch.push({ name: entry.name, isFolder: entry.isDirectory() });
    if (batch.length === ENTRIES_PER_STEP) break;
  }
  return batch;
}

/** Moves a deep folder into its base, where the next pass removes it. */
function moveUp(path: string, { base }: Folder, removal: Removal): boolean {
  if (base === undefined) throw new Error("its folders are nested too deeply");
  const target = inside(folderPath(base.descriptor, base.path), randomUUID());
  return changeEntries(base, () => attempt(removal, () => renameSync(pathBytes(path), target)));
}

function attempt(removal: Removal, remove: () => void): boolean {
  try {
    remove();
    removal.removed += 1;
    return true;
  } catch (error) {
    if (isGone(error)) return true;
    note(removal, error);
    return false;
  }
}

/** Something else has removed it at the same time. */
function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function note(removal: Removal, error: unknown): void {
  removal.error ??= error instanceof Error ? error : new Error(String(error));
}

function inside(folder: string, name: string): Buffer {
  return pathBytes(`${folder}/${name}`);
}

/**
 * Works with the user id and all permissions of the folder's owner. Only root can change its user id. `folder`: undefined
 * for the one that contains the whole tree, which belongs to the server.
 */
function changeEntries<Result>(folder: Folder | undefined, work: () => Result): Result {
  if (folder === undefined) return work();
  const { descriptor, owner } = folder;
  fchmodSync(descriptor, openedMode(descriptor)); // a program may change it back at any time
  if (owner.uid === 0 || process.getuid?.() !== 0) return work();
  try {
    process.setegid?.(owner.gid);
    process.seteuid?.(owner.uid);
    return work();
  } finally {
    becomeRoot();
  }
}

/** A process that stays between two users is of no use; the server starts another one. */
function becomeRoot(): void {
  try {
    process.seteuid?.(0);
    process.setegid?.(0);
  } catch {
    process.exit(1);
  }
}
