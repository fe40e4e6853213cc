import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { Tx } from "../db/database.ts";
import { invalid, notFound, type Fault } from "../lib/fault.ts";
import { placeOf } from "./find-place.ts";
import { folderInPath, FolderParams } from "./folder-in-request.ts";
import { countContents, deleteLevel, isDeletionDenied, isEmpty, lockBelow } from "./store/deletion.ts";
import { readLocations } from "./store/places.ts";
import { lockFolder, lockTree } from "./store/tree.ts";

/** One transaction deletes at most so many folders, and as many notebooks and dashboards, within its deadline. */
const MAX_DELETED = 100_000;

const Recursive = {
  recursive: Type.Optional(Type.Boolean({ description: "Whether everything below is deleted too", default: false })),
};

export const deleteFolder = operation({
  id: "folder_delete",
  summary: "Delete a folder",
  description:
    "A folder that is not empty is only deleted with `recursive`, in the query or in the body: then all folders, " +
    "notebooks and dashboards below and their policies are deleted too, unless a policy of one of them denies it to " +
    "the caller. Needs write on the folder.",
  tag: "Folders",
  method: "DELETE",
  paths: { "v1.2": "/folders/:folder_id" },
  access: {
    permission: OBJECT_PERMISSIONS.folder.write,
    object: { type: "folder", action: "write" },
    // the policies of what is below
    lists: "note",
  },
  params: FolderParams,
  query: Type.Object(Recursive),
  body: Type.Object(Recursive),
  reply: Type.Object({ status: Type.Literal("deleted") }),
  find: folderInPath,

  async handle({ found: { folder }, query, body, deny, readable, change }) {
    const isRecursive = query.recursive ?? body.recursive ?? false;
    return change(async (tx, audit) => {
      lockTree(tx, folder.type, "shared");
      if ((await lockFolder(tx, folder.id, "update")) === undefined) throw notFound();
      if (!isRecursive && !(await isEmpty(tx, folder.id))) {
        throw invalid("recursive", "must be true to delete a folder that is not empty, with everything below it");
      }
      const [location = ""] = await readLocations(tx, [placeOf(folder)]);
      const levels = await levelsToDelete(tx, folder.id);
      const below = levels.slice(1).flat();
      const scope = readable();
      if (scope.isFiltered && (await isDeletionDenied(tx, scope, below, levels.flat()))) {
        throw deny("You may not do this: the policy of a folder or notebook below denies it. Ask those who manage it.");
      }
      for (const level of levels.toReversed()) await deleteLevel(tx, level);
      audit.object = `folder/${folder.id}`;
      audit.detail = { before: { location, folders: below.length + 1 }, after: null };
      return { status: "deleted" as const };
    }, "large");
  },
});

/** The folder and those below it, all locked, from the top. */
async function levelsToDelete(tx: Tx, id: number): Promise<number[][]> {
  const below = await lockBelow(tx, id, MAX_DELETED);
  if (below === undefined) throw tooMuch("folders");
  const levels = [[id], ...below];
  if ((await countContents(tx, levels.flat(), MAX_DELETED)) > MAX_DELETED) throw tooMuch("notebooks and dashboards");
  return levels;
}

function tooMuch(what: string): Fault {
  return invalid("recursive", `deletes at most ${MAX_DELETED} ${what} at once: delete folders below it first`);
}
