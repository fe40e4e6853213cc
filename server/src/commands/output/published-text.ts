import { LRUCache } from "lru-cache";
import type { ObjectStore } from "../../engines/object-store/object-store.ts";
import { ObjectStoreError } from "../../engines/object-store/object-store-error.ts";
import { parseObjectUri } from "../../engines/object-store/object-uri.ts";
import type { AccountStorage } from "../../accounts/contract.ts";
import type { TextPart } from "./text-part.ts";

/** Whose storage, and where in it. */
export interface PublishedCommand {
  readonly id: number;
  readonly accountId: number;
  readonly createdAt: Date;
}

export const RESULT_NAME = "results";

/** Each attempt has an object of its own: several nodes may have run them. */
export function logName(attempt: number): string {
  return attempt === 1 ? "logs" : `logs.${attempt}`;
}

/** Below the storage location it is the command's `path`. */
export function publishedPath({ id, accountId, createdAt }: PublishedCommand, name: string): string {
  return `/tmp/${createdAt.toISOString().slice(0, 10)}/${accountId}/${id}/${name}`;
}

/** What another node has put into the storage of the account. */
export type PublishedText = (command: PublishedCommand, name: string) => Promise<TextPart | "missing" | "unreachable">;

/** Who follows a log asks every second, and what is there does not change any more. */
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
    // A local folder is that of this node, not of the other.
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
