import { resolve } from "node:path";
import { BulkFiles, syncContents } from "../../../object-store/file/bulk-files.ts";
import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import { formatObjectUri, parseObjectUri } from "../../../object-store/object-uri.ts";
import { CopyError } from "../copy-error.ts";
import type { SourceFile } from "../plan/planned-output.ts";
import {
  lastName,
  NO_ATTRIBUTES,
  type FoundFile,
  type KeptSource,
  type OutputWriter,
  type RemovableFile,
  type Storage,
} from "./storage.ts";

/**
 * Files below the account's folder. `salt` names temporary files. `mayReplace`: files of other commands may be replaced, so
 * their contents must not get lost.
 */
export function fileStorage(rootDir: string, salt: string, mayReplace: boolean): Storage {
  const root = resolve(rootDir);
  const files = new BulkFiles(root, salt, mayReplace ? syncContents : undefined);
  const pathOf = (uri: string): string => pathBelow(root, uri);
  const uriOf = (path: string): string => formatObjectUri({ scheme: "file", bucket: "", key: `${root}/${path}` });
  const find = (uri: string): FoundFile | undefined => {
    const path = pathOf(uri).replace(/\/$/, "");
    try {
      return path === "" ? undefined : { ...files.stat(path), etag: null, storageClass: null };
    } catch (error) {
      if (error instanceof ObjectStoreError && error.kind === "missing") return undefined;
      throw error;
    }
  };
  return {
    scheme: "file",
    async *list(uri) {
      const own = find(uri);
      const folder = pathOf(uri).replace(/\/$/, "");
      if (own !== undefined) {
        yield [{ ...own, uri: uriOf(folder), name: lastName(folder) }];
        return;
      }
      if (!files.isFolder(folder)) return;
      yield [];
      for (const page of files.list(folder)) {
        const start = folder === "" ? 0 : folder.length + 1;
        yield page.map(({ path, size, modifiedMs }) => sourceOf(uriOf(path), path.slice(start), size, modifiedMs));
        await Promise.resolve();
      }
    },
    find: (uri) => Promise.resolve(find(uri)),
    async read(source, { offset, length }, into) {
      const { bytes, ...found } = await files.read(pathOf(source.uri), offset, length, into);
      if (bytes.length !== length || !isUnchanged(source, found)) throw changedWhileCopied(source.uri);
      return { bytes, attributes: NO_ATTRIBUTES };
    },
    attributesOf: () => Promise.resolve(NO_ATTRIBUTES),
    write(uri, bytes) {
      named(uri, () => files.write(pathOf(uri), bytes));
      return Promise.resolve();
    },
    create: (uri) => Promise.resolve(named(uri, () => fileWriter(files, uri, pathOf(uri)))),
    remove(sources) {
      return Promise.resolve(
        sources.flatMap((source) => removeFile(source, find, () => files.remove(pathOf(source.uri)))),
      );
    },
    removeOutput(uri) {
      files.remove(pathOf(uri));
      return Promise.resolve();
    },
    removeUnfinished(uri) {
      files.removeUnfinished(pathOf(uri));
      return Promise.resolve();
    },
    removeTemporary(uri) {
      files.remove(pathOf(uri));
      files.removeUnfinished(pathOf(uri));
      return Promise.resolve();
    },
    settle: () => files.sync(),
    close() {
      files.close();
      return Promise.resolve();
    },
  };
}

function sourceOf(uri: string, name: string, size: number, modifiedMs: number): SourceFile {
  return { uri, name, size, modifiedMs, etag: null, storageClass: null };
}

function fileWriter(files: BulkFiles, uri: string, path: string): OutputWriter {
  const file = files.create(path);
  return {
    async write({ offset, bytes }) {
      let at = offset;
      for (const piece of bytes) {
        await file.write(piece, at);
        at += piece.length;
      }
    },
    async finish() {
      await file.finish().catch((error: unknown) => {
        throw fileAndFolder(uri, error);
      });
    },
    discard: () => file.discard(),
  };
}

function named<T>(uri: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileAndFolder(uri, error);
  }
}

/** The name of an object can also be the folder of another; the name of a file cannot. */
function fileAndFolder(uri: string, error: unknown): unknown {
  const isBoth = error instanceof ObjectStoreError && (error.code === "ENOTDIR" || error.code === "EISDIR");
  if (!isBoth) return error;
  return new CopyError(`${uri}: cannot be written, because a file and a folder would have the same name`, {
    cause: error,
  });
}

/** Looks and deletes at once. Returns the source if it still exists. */
function removeFile(
  source: RemovableFile,
  find: (uri: string) => FoundFile | undefined,
  remove: () => void,
): KeptSource[] {
  const { uri } = source;
  try {
    const found = find(uri);
    if (found === undefined) return []; // another attempt may have deleted it
    if (!isUnchanged(source, found)) return [{ uri, why: "changed", detail: "" }];
    remove();
    return [];
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    return [{ uri, why: "refused", detail: error.code ?? error.message }];
  }
}

type FileVersion = Pick<FoundFile, "size" | "modifiedMs">;

export function isUnchanged(source: FileVersion, found: FileVersion): boolean {
  return found.size === source.size && found.modifiedMs === source.modifiedMs;
}

export function changedWhileCopied(uri: string): CopyError {
  return new CopyError(`${uri}: the file has changed while it was copied`);
}

/** Empty for the root itself. */
function pathBelow(root: string, uri: string): string {
  const { scheme, key } = parseObjectUri(uri);
  const path = key.replaceAll(/\/{2,}/g, "/");
  if (scheme !== "file" || (path !== root && !path.startsWith(`${root}/`))) {
    throw new CopyError(`${uri}: file: URIs must lie below file://${root}, the account's own storage folder`);
  }
  return path.slice(root.length + 1);
}
