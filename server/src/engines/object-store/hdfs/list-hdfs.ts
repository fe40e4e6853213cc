import type { ObjectStat } from "../object-store.ts";
import type { FileStatus } from "./file-status.ts";

export interface ListedFile extends ObjectStat {
  /** The whole path. */
  key: string;
}

/** What a write that is not finished yet is called; nobody sees those. */
export const unfinishedName = /^\.put-[0-9a-f]{16}$/;

/** The entries of a folder, page by page; none when it is not there. */
export type ReadFolder = (path: string) => AsyncIterable<readonly FileStatus[]>;

export interface ListHdfsOptions {
  readonly prefix: string;
  /** Only what comes behind it. */
  readonly after: string | undefined;
  readonly mostHeldBytes: number;
  /** What it fails with beyond that. */
  readonly tooMany: () => Error;
}

interface Held {
  readonly status: FileStatus;
  readonly path: string;
  readonly bytes: Buffer;
}

/** An entry besides its path, of which it has two. */
const ENTRY_BYTES = 400;

/**
 * The files whose path begins with the prefix and comes behind `after`, in the byte order of their paths, as S3 lists:
 * a folder sorts as its name with the slash that every path below it has. Holds one folder per level, not the tree, and
 * of a folder only what is asked for.
 */
export async function* listHdfs(
  readFolder: ReadFolder,
  { prefix, after, mostHeldBytes, tooMany }: ListHdfsOptions,
): AsyncGenerator<ListedFile> {
  let heldBytes = 0;
  yield* listBelow(prefix.slice(0, prefix.lastIndexOf("/") + 1));

  async function* listBelow(folder: string): AsyncGenerator<ListedFile> {
    const before = heldBytes;
    for (const { status, path } of await readSorted(folder)) {
      if (status.kind === "folder") {
        yield* listBelow(path);
      } else {
        const { size, modifiedAt, etag } = status;
        yield { key: path, size, modifiedAt, etag };
      }
    }
    heldBytes = before;
  }

  async function readSorted(folder: string): Promise<Held[]> {
    const all: Held[] = [];
    for await (const page of readFolder(folder)) {
      for (const status of page) {
        const path = `${folder}${status.name}${status.kind === "folder" ? "/" : ""}`;
        if (!isAsked(status, path)) continue;
        heldBytes += ENTRY_BYTES + 2 * path.length;
        if (heldBytes > mostHeldBytes) throw tooMany();
        all.push({ status, path, bytes: Buffer.from(path) });
      }
    }
    return all.sort((a, b) => a.bytes.compare(b.bytes));
  }

  function isAsked({ kind, name }: FileStatus, path: string): boolean {
    if (kind === "folder") return (path.startsWith(prefix) || prefix.startsWith(path)) && !isPassed(path, after);
    return kind === "file" && path.startsWith(prefix) && !unfinishedName.test(name) && !isAtMost(path, after);
  }
}

function isAtMost(path: string, after: string | undefined): boolean {
  return after !== undefined && Buffer.from(path).compare(Buffer.from(after)) <= 0;
}

/** Everything below this folder lies before `after`. */
function isPassed(folder: string, after: string | undefined): boolean {
  return after !== undefined && !after.startsWith(folder) && isAtMost(folder, after);
}
