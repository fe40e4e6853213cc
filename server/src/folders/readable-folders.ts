import type { FolderType } from "../access/policy/policy.ts";
import type { ReadScope } from "../access/policy/read-scope.ts";
import type { Queryable } from "../db/database.ts";
import { listAll, readFolders, walkReadableTree } from "./store/lists.ts";
import type { FolderRow } from "./store/places.ts";
import { judgeFolders } from "./store/verdicts.ts";

const FIRST_BATCH = 200;
const LARGEST_BATCH = 3200;
/** If fewer than one in ten folders is readable, walking the readable tree is faster than judging all of them. */
const JUDGED_PER_SHOWN = 10;

/**
 * A page of the readable folders of the type, by id. First, folders are judged in the order of their ids until the page
 * is full. If too many of them turn out to be hidden, the readable parts of the tree are walked instead.
 */
export async function listReadableFolders(
  reader: Queryable,
  scope: ReadScope,
  type: FolderType,
  page: { limit: number; offset: number },
): Promise<FolderRow[]> {
  if (!scope.isFiltered) return listAll(reader, type, page);
  const needed = page.offset + page.limit;
  const mostJudged = FIRST_BATCH + needed * JUDGED_PER_SHOWN;
  const shown: number[] = [];
  let [after, judged, limit] = [0, 0, FIRST_BATCH];
  while (judged < mostJudged) {
    const batch = await judgeFolders(reader, scope, { type, after, limit });
    for (const { id, isReadable, ownerId } of batch) if (isReadable || ownerId === scope.membershipId) shown.push(id);
    after = batch.at(-1)?.id ?? after;
    judged += batch.length;
    if (shown.length >= needed || batch.length < limit) {
      return readFolders(reader, shown.slice(page.offset, needed));
    }
    limit = Math.min(limit * 4, LARGEST_BATCH);
  }
  return walkReadableTree(reader, scope, type, page);
}
