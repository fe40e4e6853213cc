import type { ObjectStat } from "../object-store.ts";

/** What WebHDFS says of a file or folder. */
export interface FileStatus extends ObjectStat {
  /** Empty for the one that was asked for, else its name in the folder. */
  name: string;
  kind: "file" | "folder" | "other";
}

export interface FolderPage {
  entries: FileStatus[];
  /** How many more come behind the last of these. */
  left: number;
}

/** Throws where the document is no such one. */
export function parseFileStatus(document: unknown): FileStatus {
  return statusOf(member(document, "FileStatus"));
}

export function parseFolderPage(document: unknown): FolderPage {
  const listing = member(document, "DirectoryListing");
  const entries = member(member(member(listing, "partialListing"), "FileStatuses"), "FileStatus");
  if (!Array.isArray(entries)) throw new Error("the entries are no list");
  return { entries: entries.map(statusOf), left: integer(member(listing, "remainingEntries")) };
}

/** HDFS refuses some changes with `false` and status 200. */
export function isDone(document: unknown): boolean {
  return document === undefined || member(document, "boolean") === true;
}

function statusOf(value: unknown): FileStatus {
  const name = member(value, "pathSuffix");
  if (typeof name !== "string") throw new Error("a name is no text");
  return {
    name,
    kind: kinds.get(member(value, "type")) ?? "other",
    size: integer(member(value, "length")),
    modifiedAt: new Date(integer(member(value, "modificationTime"))),
    etag: null,
  };
}

const kinds: ReadonlyMap<unknown, FileStatus["kind"]> = new Map([
  ["FILE", "file"],
  ["DIRECTORY", "folder"],
] as const);

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
    throw new Error(`there is no ${name}`);
  return Reflect.get(value, name);
}

function integer(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw new Error("a number is none");
  return value;
}
