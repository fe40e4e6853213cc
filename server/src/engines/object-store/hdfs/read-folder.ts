import { unreadable } from "../connection-failure.ts";
import type { CallOptions } from "../object-store.ts";
import { parseFolderPage, type FileStatus, type FolderPage } from "./file-status.ts";
import { orMissing, parsed } from "./read-answer.ts";
import type { WebHdfsClient } from "./webhdfs-client.ts";

export interface ReadFolderOptions extends CallOptions {
  /** With or without a slash at its end. */
  path: string;
  /** What error messages call it. */
  subject: string;
  mostEntries: number;
}

/** What is in a folder, page by page; nothing where it is not there, or gone while we read. */
export async function* readFolder(
  client: WebHdfsClient,
  { mostEntries, ...place }: ReadFolderOptions,
): AsyncGenerator<readonly FileStatus[]> {
  const path = place.path.replace(/(.)\/$/, "$1");
  const readPage = async (startAfter: string): Promise<FolderPage> => {
    const query = { startAfter };
    const document = await client.document({ ...place, path, method: "GET", operation: "LISTSTATUS_BATCH", query });
    return parsed(place, () => parseFolderPage(document));
  };
  let seen = 0;
  for (let last = ""; ;) {
    const page = await orMissing(readPage(last));
    if (page === undefined) return;
    const { entries, left } = page;
    yield entries.filter(({ name }) => name !== ""); // a file is listed as itself, without a name
    if (left === 0) return;
    seen += entries.length;
    const before = last;
    last = entries.at(-1)?.name ?? before;
    if (last === before) throw unreadable(place.subject, new Error("the listing does not move on"));
    if (seen > mostEntries) throw unreadable(place.subject, new Error("the listing does not end"));
  }
}
