import { LRUCache } from "lru-cache";
import type { ObjectStore } from "../../engines/object-store/object-store.ts";
import { ObjectStoreError } from "../../engines/object-store/object-store-error.ts";
import { parseObjectUri } from "../../engines/object-store/object-uri.ts";
import type { AccountStorage } from "../../accounts/contract.ts";
import type { TextPart } from "./text-part.ts";

/** The command, whose account and date decide the path in the storage. */
export interface PublishedCommand {
  readonly id: number;
  readonly accountId: number;
  readonly createdAt: Date;
}

export const RESULT_NAME = "results";

/** Each attempt has its own object, because several nodes may have run them. */
export function logName(attempt: number): string {
  return attempt === 1 ? "logs" : `logs.${attempt}`;
}

/** The path below the storage location; it begins with the command's `path`. */
export function publishedPath({ id, accountId, createdAt }: PublishedCommand, name: string): string {
  return `/tmp/${createdAt.toISOString().slice(0, 10)}/${accountId}/${id}/${name}`;
}

/** Finds a text that another node has published to the account's storage. */
export type PublishedText = (command: PublishedCommand, name: string) => Promise<TextPart | "missing" | "unreachable">;

/** A followed log is read every second, and published objects do not change. */
const REMEMBERED = { max: 200, ttl: 60_000 };

export function publishedText(storage: AccountStorage): PublishedText {
  const known = new LRUCache<string, TextPart>(REMEMBERED);
  return async (command, name) => {
    const path = publishedPath(command, name);
    const there = known.get(path) ?? (await find(storage, command.accountId, path));
    if (typeof there === "object") known.set(path, there);
    return there;
  };
}

async function find(
  storage: AccountStorage,
  accountId: number,
  path: string,
): Promise<TextPart | "missing" | "unreachable"> {
  const { store, uri } = await openAt(storage, accountId, path);
  try {
    // A local folder is on this node, so it cannot have objects of another.
    if (parseObjectUri(uri).scheme === "file") return "unreachable";
    const { size } = await store.stat(uri);
    return { size, read: (start, end) => readObject(storage, accountId, path, start, end) };
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    return error.kind === "missing" ? "missing" : "unreachable";
  } finally {
    await store.close();
  }
}

async function* readObject(
  storage: AccountStorage,
  accountId: number,
  path: string,
  offset: number,
  end: number,
): AsyncGenerator<Buffer> {
  const { store, uri } = await openAt(storage, accountId, path);
  try {
    const { body } = await store.get(uri, { range: { offset, length: end - offset } });
    for await (const piece of body as AsyncIterable<Buffer>) yield piece; // no encoding is set
  } finally {
    await store.close();
  }
}

async function openAt(
  storage: AccountStorage,
  accountId: number,
  path: string,
): Promise<{ store: ObjectStore; uri: string }> {
  const { store, location } = await storage.open(accountId);
  return { store, uri: `${location.replace(/\/+$/, "")}${path}` };
}
