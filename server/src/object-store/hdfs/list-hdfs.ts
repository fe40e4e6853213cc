import type { ObjectStat, CallOptions } from "../object-store.ts";
import { type FileStatus, parseFolderPage, type FolderPage, orMissing, parsed } from "./webhdfs-answers.ts";
import { unreadable } from "../object-store-error.ts";
import type { WebHdfsClient } from "./webhdfs-client.ts";

interface ListedFile extends ObjectStat {
  /** The whole path. */
  key: string;
}

/** Names of unfinished writes, which listings omit. */
export const unfinishedName = /^\.put-[0-9a-f]{16}$/;

/** The entries of a folder in pages; none if it does not exist. */
type ReadFolder = (path: string) => AsyncIterable<readonly FileStatus[]>;

interface ListHdfsOptions {
  readonly prefix: string;
  /** Lists only paths after this one. */
  readonly after: string | undefined;
  readonly maxHeldBytes: number;
  /** The error if the listing needs more. */
  readonly tooMany: () => Error;
}

interface Held {
  readonly status: FileStatus;
  readonly path: string;
  readonly bytes: Buffer;
}

/** Memory of an entry in addition to its path, which it holds twice. */
const ENTRY_BYTES = 400;

/**
 * Files whose paths start with the prefix and sort after `after`, in byte order as in S3: a folder sorts by its name with
 * a slash. Holds only the matching entries of one folder per level in memory, not the whole tree.
 */
export async function* listHdfs(
  readFolder: ReadFolder,
  { prefix, after, maxHeldBytes, tooMany }: ListHdfsOptions,
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
        if (!isWanted(status, path)) continue;
        heldBytes += ENTRY_BYTES + 2 * path.length;
        if (heldBytes > maxHeldBytes) throw tooMany();
        all.push({ status, path, bytes: Buffer.from(path) });
      }
    }
    return all.sort((a, b) => a.bytes.compare(b.bytes));
  }

  function isWanted({ kind, name }: FileStatus, path: string): boolean {
    if (kind === "folder") return (path.startsWith(prefix) || prefix.startsWith(path)) && !endsBefore(path, after);
    return kind === "file" && path.startsWith(prefix) && !unfinishedName.test(name) && !isAtMost(path, after);
  }
}

/** All files below a folder in pages, in no order. Holds one page per level in memory. `folder` ends with a slash. */
export async function* listHdfsPages(readFolder: ReadFolder, folder: string): AsyncGenerator<readonly ListedFile[]> {
  for await (const page of readFolder(folder)) {
    const files: ListedFile[] = [];
    for (const { kind, name, size, modifiedAt, etag } of page) {
      if (kind === "file" && !unfinishedName.test(name))
        files.push({ key: `${folder}${name}`, size, modifiedAt, etag });
    }
    yield files;
    for (const { kind, name } of page) {
      if (kind === "folder") yield* listHdfsPages(readFolder, `${folder}${name}/`);
    }
  }
}

function isAtMost(path: string, after: string | undefined): boolean {
  return after !== undefined && Buffer.from(path).compare(Buffer.from(after)) <= 0;
}

/** Whether everything below this folder sorts before `after`. */
function endsBefore(folder: string, after: string | undefined): boolean {
  return after !== undefined && !after.startsWith(folder) && isAtMost(folder, after);
}

interface ReadFolderOptions extends CallOptions {
  /** With or without a trailing slash. */
  path: string;
  /** The start of error messages. */
  subject: string;
  maxEntries: number;
}

/** The entries of a folder in pages. Ends if the folder does not exist or is removed meanwhile. */
export async function* readHdfsFolder(
  client: WebHdfsClient,
  { maxEntries, ...folder }: ReadFolderOptions,
): AsyncGenerator<readonly FileStatus[]> {
  const path = folder.path.replace(/(.)\/$/, "$1");
  const readPage = async (startAfter: string): Promise<FolderPage> => {
    const query = { startAfter };
    const document = await client.document({ ...folder, path, method: "GET", operation: "LISTSTATUS_BATCH", query });
    return parsed(folder, () => parseFolderPage(document));
  };
  let seen = 0;
  for (let last = ""; ;) {
    const page = await orMissing(readPage(last));
    if (page === undefined) return;
    const { entries, left } = page;
    if (!entries.every(({ name }) => isAfterName(name, last))) {
      const reason = "a page repeats names of an earlier page, or the store does not list names in order";
      throw unreadable(folder.subject, new Error(reason));
    }
    yield entries.filter(({ name }) => name !== ""); // a file lists itself with an empty name
    if (left === 0) return;
    seen += entries.length;
    const before = last;
    last = entries.at(-1)?.name ?? before;
    if (last === before) throw unreadable(folder.subject, new Error("the listing does not advance"));
    if (seen > maxEntries)
      throw unreadable(folder.subject, new Error(`the listing has more than ${maxEntries} entries`));
  }
}

/** By bytes. HDFS compares them with a sign, so that names with other characters than ASCII come first. */
function isAfterName(name: string, last: string): boolean {
  if (last === "") return true;
  const [one, other] = [Buffer.from(name), Buffer.from(last)];
  return one.compare(other) > 0 || withSign(one).compare(withSign(other)) > 0;
}

function withSign(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => byte ^ 0x80));
}
