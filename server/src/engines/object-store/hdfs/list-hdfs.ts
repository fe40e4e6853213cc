import type { ObjectStat } from "../object-store.ts";
import type { FileStatus } from "./file-status.ts";

export interface ListedFile extends ObjectStat {
  /** The whole path. */
  key: string;
}

/** What a write that is not finished yet is called; nobody sees those. */
export const unfinishedName = /^\.put-[0-9a-f]{16}$/;

/** All entries of a folder; none when it is not there. */
export type ReadFolder = (path: string) => Promise<FileStatus[]>;

/**
 * The files whose path begins with the prefix and comes behind `after`, in the byte order of their paths, as S3 lists:
 * a folder sorts as its name with the slash that every path below it has. Holds one folder per level, not the tree.
 */
export async function* listHdfs(
  readFolder: ReadFolder,
  prefix: string,
  after: string | undefined,
): AsyncGenerator<ListedFile> {
  yield* listBelow(prefix.slice(0, prefix.lastIndexOf("/") + 1));

  async function* listBelow(folder: string): AsyncGenerator<ListedFile> {
    for (const { status, path } of sorted(folder, await readFolder(folder))) {
      if (status.kind === "folder") {
        const mayMatch = path.startsWith(prefix) || prefix.startsWith(path);
        if (mayMatch && !isPassed(path, after)) yield* listBelow(path);
      } else if (
        status.kind === "file" &&
        path.startsWith(prefix) &&
        !unfinishedName.test(status.name) &&
        !isAtMost(path, after)
      ) {
        const { size, modifiedAt, etag } = status;
        yield { key: path, size, modifiedAt, etag };
      }
    }
  }
}

function sorted(folder: string, entries: readonly FileStatus[]): { status: FileStatus; path: string }[] {
  return entries
    .map((status) => {
      const path = `${folder}${status.name}${status.kind === "folder" ? "/" : ""}`;
      return { status, path, bytes: Buffer.from(path) };
    })
    .sort((a, b) => a.bytes.compare(b.bytes));
}

function isAtMost(path: string, after: string | undefined): boolean {
  return after !== undefined && Buffer.from(path).compare(Buffer.from(after)) <= 0;
}

/** Everything below this folder lies before `after`. */
function isPassed(folder: string, after: string | undefined): boolean {
  return after !== undefined && !after.startsWith(folder) && isAtMost(folder, after);
}
