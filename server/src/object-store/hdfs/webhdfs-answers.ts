import type { ObjectStat } from "../object-store.ts";
import { unreadable, ObjectStoreError } from "../object-store-error.ts";

/** The status of a file or folder in WebHDFS. */
export interface FileStatus extends ObjectStat {
  /** The name in the listed folder; empty for the requested path itself. */
  name: string;
  kind: "file" | "folder" | "other";
}

export interface FolderPage {
  entries: FileStatus[];
  /** Number of entries after this page. */
  left: number;
}

/** Throws if the document is not such a status. */
export function parseFileStatus(document: unknown): FileStatus {
  return statusOf(member(document, "FileStatus"));
}

export function parseFolderPage(document: unknown): FolderPage {
  const listing = member(document, "DirectoryListing");
  const entries = member(member(member(listing, "partialListing"), "FileStatuses"), "FileStatus");
  if (!Array.isArray(entries)) throw new Error("the entries are not a list");
  return { entries: entries.map(statusOf), left: integer(member(listing, "remainingEntries")) };
}

/** HDFS rejects some changes with `false` and status 200. */
export function isDone(document: unknown): boolean {
  return document === undefined || member(document, "boolean") === true;
}

function statusOf(value: unknown): FileStatus {
  const name = member(value, "pathSuffix");
  if (typeof name !== "string") throw new Error("a name is not a string");
  const size = integer(member(value, "length"));
  const modifiedMs = integer(member(value, "modificationTime"));
  return {
    name,
    kind: kinds.get(member(value, "type")) ?? "other",
    size,
    modifiedAt: new Date(modifiedMs),
    etag: `${modifiedMs.toString(36)}-${size.toString(36)}`, // HDFS has none
  };
}

const kinds: ReadonlyMap<unknown, FileStatus["kind"]> = new Map([
  ["FILE", "file"],
  ["DIRECTORY", "folder"],
] as const);

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
    throw new Error(`the document has no ${name}`);
  return Reflect.get(value, name);
}

function integer(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new Error("a number is not a natural number");
  return value;
}

/** Undefined if the file or folder does not exist. */
export async function orMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === "missing") return undefined;
    throw error;
  }
}

export function parsed<T>({ subject }: { readonly subject: string }, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw unreadable(subject, error);
  }
}
