import { unreadable } from "../connection-failure.ts";
import type { CallOptions } from "../object-store.ts";
import { parseFolderPage, type FileStatus, type FolderPage } from "./file-status.ts";
import { orMissing, parsed } from "./read-answer.ts";
import type { WebHdfsClient } from "./webhdfs-client.ts";

export interface ReadFolderOptions extends CallOptions {
  /** With or without a trailing slash. */
  path: string;
  /** The start of error messages. */
  subject: string;
  maxEntries: number;
}

/** The entries of a folder in pages. Ends if the folder does not exist or is removed meanwhile. */
export async function* readFolder(
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
    yield entries.filter(({ name }) => name !== ""); // a file lists itself with an empty name
    if (left === 0) return;
    seen += entries.length;
    const before = last;
    last = entries.at(-1)?.name ?? before;
    if (last === before) throw unreadable(folder.subject, new Error("the listing repeats a page"));
    if (seen > maxEntries)
      throw unreadable(folder.subject, new Error(`the listing has more than ${maxEntries} entries`));
  }
}
