/**
 * Folders of notebooks (`notes`) and of dashboards (`notebook_dashboards`), two separate trees (§4.11). The roots
 * `Common` and `Users/<e-mail>` always exist and cannot be changed, but they can have policies.
 */
import { Type, type Static } from "typebox";
import type { FolderType } from "../access/policy/policy.ts";
import { Id, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { Fault, invalid } from "../lib/fault.ts";
import { MAX_LOCATION_LENGTH } from "../lib/location-name.ts";
import type { FolderRow } from "./store/folders.ts";

export const FOLDER_TYPES = ["notes", "notebook_dashboards"] as const satisfies readonly FolderType[];

export const FolderTypeField = OneOf(FOLDER_TYPES, {
  description: "notes: folders of notebooks; notebook_dashboards: folders of dashboards",
  examples: ["notes"],
});

export const LocationField = Type.String({
  minLength: 1,
  maxLength: MAX_LOCATION_LENGTH,
  description: "The full path of the folder, below Common or Users/<e-mail>",
  examples: ["Common/reports"],
});

export const Folder = Type.Object(
  {
    id: Id,
    name: Type.String(),
    location: Type.String({ description: "The full path, with the folder's own name" }),
    type: FolderTypeField,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Folder" },
);

export const FolderReply = Type.Object({ status: Type.Literal("success"), folder: Folder });

export function folderObject(row: FolderRow, location: string): Static<typeof Folder> {
  return {
    id: row.id,
    name: row.name,
    location,
    type: row.type,
    created_at: isoSeconds(row.createdAt),
    updated_at: isoSeconds(row.updatedAt),
  };
}

export function folderReply(row: FolderRow, location: string): Static<typeof FolderReply> {
  return { status: "success", folder: folderObject(row, location) };
}

/** Reads `type` from fields that are not validated yet. */
export function parseFolderType(given: unknown): FolderType {
  if (given === undefined) throw invalid("type", "is required");
  const type = FOLDER_TYPES.find((each) => each === given);
  if (type === undefined) throw invalid("type", `must be one of ${FOLDER_TYPES.join(", ")}`);
  return type;
}

export function nameTaken(name: string): Fault {
  return new Fault("conflict", `There is already a folder named ${name} at this location. Choose another name.`);
}

export function rootUnchangeable(field: string): Fault {
  return invalid(field, "must not be a root: Common and Users/<e-mail> cannot be renamed, moved or deleted");
}
