import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { Tx } from "../db/database.ts";
import { invalid, notFound, type Fault } from "../lib/fault.ts";
import type { WithFolderContents } from "../notebooks/contract.ts";
import { folderRefOf, policyObjectOf } from "./find-by-location.ts";
import { folderInPath, FolderParams } from "./folder-in-request.ts";
import { mayDeleteBelow } from "./may-delete-below.ts";
import { deleteFolders, isEmpty, lockFolders, measureContents } from "./store/deletion.ts";
import { readLocations } from "./store/folders.ts";
import { hasMoved, lockFolder, lockTree, readBelow } from "./store/tree.ts";

/** One transaction deletes this much in about a second. Other changes of the same folders wait that long. */
const MAX_FOLDERS = 10_000;
const MAX_CONTENTS = 10_000;
const MAX_CONTENT_GIBIBYTES = 1;

const Recursive = {
  recursive: Type.Optional(Type.Boolean({ description: "true: delete everything below too", default: false })),
};

export const deleteFolder = operation({
  id: "folder_delete",
  summary: "Delete a folder",
  description:
    "Needs write on the folder. A folder that is not empty needs `recursive=true`, in the query or in the body. Then " +
    "all folders, notebooks and dashboards below and their policies are deleted too, if the caller may delete each " +
    "of them; otherwise nothing is deleted.",
  tag: "Folders",
  method: "DELETE",
  paths: { "v1.2": "/folders/:folder_id" },
  access: {
    permission: OBJECT_PERMISSIONS.folder.write,
    object: { type: "folder", action: "write" },
    // The scope has the ids of the caller's groups, which mayDeleteBelow needs.
    lists: "note",
  },
  params: FolderParams,
  query: Type.Object(Recursive),
  body: Type.Object(Recursive),
  reply: Type.Object({ status: Type.Literal("deleted") }),
  find: folderInPath,

  async handle(
    { found: { folder }, params, query, body, caller, authorise, deny, readable, change },
    { folderContents }: WithFolderContents,
  ) {
    const isRecursive = query.recursive ?? body.recursive ?? false;
    return change(async (tx, audit) => {
      await lockTree(tx, folder.type, isRecursive ? "exclusive" : "shared");
      const locked = await lockFolder(tx, folder.id, "update");
      if (locked === undefined) throw notFound("Folder", params.folder_id);
      if (hasMoved(folder, locked)) {
        await authorise(policyObjectOf(locked), "write", OBJECT_PERMISSIONS.folder.write, tx);
      }
      if (!isRecursive && !(await isEmpty(tx, folder.id))) {
        throw invalid("recursive", "must be true to delete a folder that is not empty, with everything below it");
      }
      const [location = ""] = await readLocations(tx, [folderRefOf(folder)]);
      const below = await lockToDelete(tx, folder.id);
      if (!(await mayDeleteBelow(tx, { caller, scope: readable() }, locked, below))) {
        throw deny(
          "You may not do this: a policy or a missing permission keeps you from deleting something below the folder. " +
            "Ask those who manage it.",
        );
      }
      const ids = [folder.id, ...below];
      await deleteFolders(tx, ids, folderContents);
      audit.object = `folder/${folder.id}`;
      audit.detail = { before: { location, folders: ids.length }, after: null };
      return { status: "deleted" as const };
    });
  },
});

/** Locks the folders below and returns their ids. Throws if there is too much to delete. */
async function lockToDelete(tx: Tx, id: number): Promise<number[]> {
  const below = await readBelow(tx, id, MAX_FOLDERS);
  if (below === undefined) throw tooMuch(`${MAX_FOLDERS} folders`);
  await lockFolders(tx, below.ids);
  const ids = [id, ...below.ids];
  const { count, bytes } = await measureContents(tx, ids, MAX_CONTENTS);
  if (count > MAX_CONTENTS) throw tooMuch(`${MAX_CONTENTS} notebooks and dashboards`);
  if (bytes > MAX_CONTENT_GIBIBYTES * 2 ** 30) {
    throw tooMuch(`notebooks and dashboards with ${MAX_CONTENT_GIBIBYTES} GiB of content`);
  }
  return below.ids;
}

function tooMuch(what: string): Fault {
  return invalid("recursive", `deletes at most ${what} at once: delete some of its contents first`);
}
