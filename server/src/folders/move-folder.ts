import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { FolderRef } from "../access/policy/policy.ts";
import { refusalOfUnknown, unknownFolder } from "../access/policy/unknown-object.ts";
import type { Tx } from "../db/database.ts";
import { invalid, type Fault } from "../lib/fault.ts";
import { shownValue } from "../lib/shown-value.ts";
import { findByLocation, folderRefOf, policyObjectOf } from "./find-by-location.ts";
import { folderInRequest } from "./folder-in-request.ts";
import {
  FolderReply,
  folderReply,
  FolderTypeField,
  LocationField,
  nameTaken,
  parseFolderType,
  rootUnchangeable,
} from "./folder.ts";
import { MAX_DEPTH } from "./location.ts";
import { lockParent, readLocations } from "./store/folders.ts";
import { hasMoved, lockFolder, lockTree, moveFolder as updateFolder, readBelow } from "./store/tree.ts";

/** A move rewrites the ancestors of all of them in one transaction, in well under a second. */
const MAX_FOLDERS_BELOW = 10_000;

export const moveFolder = operation({
  id: "folder_move",
  summary: "Move a folder",
  description:
    "`destination_location` is the new parent. Everything below the folder moves with it, at most 10,000 folders. Needs " +
    "write on the folder and on the new parent. Refused if read on the folder is denied.",
  tag: "Folders",
  method: "PUT",
  paths: { "v1.2": "/folders/move" },
  access: {
    permission: OBJECT_PERMISSIONS.folder.move,
    object: { type: "folder", action: "move" },
  },
  body: Type.Object({
    location: LocationField,
    destination_location: { ...LocationField, description: "The full path of the new parent", examples: ["Common"] },
    type: FolderTypeField,
  }),
  example: { body: { location: "Common/archive", destination_location: "Common", type: "notes" } },
  reply: FolderReply,
  find: ({ given, reader, caller }) => {
    const { location, type } = given();
    return folderInRequest({ reader, caller }, { location, type });
  },

  async handle({ found: { folder }, body, reader, caller, authorise, deny, change }) {
    const destination = await findByLocation(reader, {
      type: parseFolderType(body.type),
      location: body.destination_location,
      field: "destination_location",
      member: caller,
    });
    if (destination === undefined) {
      throw (
        refusalOfUnknown(OBJECT_PERMISSIONS.folder.write, { caller, deny }) ??
        unknownDestination(body.destination_location)
      );
    }
    await authorise(destination.policyObject, "write", OBJECT_PERMISSIONS.folder.write);
    if (folder === null) throw rootUnchangeable("location");
    return change(async (tx, audit) => {
      await lockTree(tx, folder.type, "exclusive");
      const locked = await lockFolder(tx, folder.id, "no key update");
      if (locked === undefined) throw unknownFolder(folder.type, body.location);
      if (hasMoved(folder, locked)) {
        await authorise(policyObjectOf(locked), "move", OBJECT_PERMISSIONS.folder.move, tx);
      }
      const [before = ""] = await readLocations(tx, [folderRefOf(locked)]);
      const isThere = await prepareDestination(tx, locked.id, destination.folderRef);
      if (!isThere) throw unknownDestination(body.destination_location);
      const moved = await updateFolder(tx, locked.id, destination.folderRef);
      if (moved === undefined) throw nameTaken(locked.name);
      const [after = ""] = await readLocations(tx, [folderRefOf(moved)]);
      audit.object = `folder/${locked.id}`;
      audit.detail = { before: { location: before }, after: { location: after } };
      return folderReply(moved, after);
    });
  },
});

/** Checks that the folder may move there, and locks the new parent. False: the parent has been deleted. */
async function prepareDestination(tx: Tx, id: number, { folderId }: FolderRef): Promise<boolean> {
  const below = await readBelow(tx, id, MAX_FOLDERS_BELOW);
  if (below === undefined) {
    throw invalid(
      "location",
      `must be a folder with at most ${MAX_FOLDERS_BELOW} folders below it: move parts of it first`,
    );
  }
  if (folderId === null) return true;
  const above = await lockParent(tx, folderId);
  if (above === undefined) return false;
  if (folderId === id || above.includes(id)) {
    throw invalid("destination_location", "must not be the moved folder itself or a folder below it");
  }
  if (above.length + 2 + below.levels > MAX_DEPTH) {
    throw invalid(
      "destination_location",
      `must be higher in the tree: the folder and everything below it can be at most ${MAX_DEPTH} folders deep`,
    );
  }
  return true;
}

function unknownDestination(location: string): Fault {
  return invalid(
    "destination_location",
    `names no folder of this type: ${shownValue(location)}. Check the path, or create the folder first`,
  );
}
