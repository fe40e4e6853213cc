import { ObjectStoreError } from "./object-store-error.ts";

/**
 * `storage:/a/b` is the file `a/b` of an account's storage, at `<location>/a/b`. Returns that long address; other URIs
 * are returned unchanged, also STORAGE:, which Hadoop does not know. Spark resolves the same name by `jvm/storage/StorageFileSystem.scala`.
 */
export function resolveStorageUri(uri: string, location: string): string {
  const [, rest] = /^storage:(.*)$/s.exec(uri) ?? [];
  if (rest === undefined) return uri;
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  if (!path.startsWith("/")) {
    throw badUri(
      rest.startsWith("//") ? "must name no host after storage:// (write storage:/path)" : "must have / after storage:",
    );
  }
  const names = path.slice(1).split("/");
  // A folder may end with a slash.
  const inner = names.at(-1) === "" ? names.slice(0, -1) : names;
  if (inner.some((name) => ["", ".", ".."].includes(name))) {
    throw badUri("must have no empty name and no '.' or '..' in its path after storage:/");
  }
  return `${location.replace(/\/+$/, "")}${path}`;
}

function badUri(rule: string): ObjectStoreError {
  return new ObjectStoreError("bad-uri", `the URI ${rule}`);
}
