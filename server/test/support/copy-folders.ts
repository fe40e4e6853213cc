import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll } from "vitest";
import type { S3Store } from "../../src/object-store/s3/s3-operations.ts";
import { s3Store } from "../../src/object-store/s3/s3-store.ts";
import { faultyRelay, type FaultyRelay } from "../seaweedfs/relay.ts";
import { useSeaweedFs, type S3Keys, type SeaweedFs } from "../seaweedfs/seaweedfs.ts";
import { useCopies, type CopyBench, type CopyOf } from "./copy-run.ts";

/** Folders in S3 and on disk that copies read and write, with functions that fill and read them. */
export interface CopyFolders {
  readonly s3: SeaweedFs;
  readonly copies: CopyBench;
  readonly store: S3Store;
  readonly bucket: string;
  /** The URI of a new folder in S3. */
  readonly folder: () => string;
  readonly put: (folderUri: string, contents: Contents) => Promise<void>;
  /** The contents of all objects below the folder. */
  readonly contentsOf: (folderUri: string) => Promise<Record<string, string>>;
  /** Writes files and returns the URI of their folder. */
  readonly putFiles: (folder: string, contents: Contents) => string;
  /** The contents of all files below the folder. */
  readonly filesIn: (folder: string) => Record<string, string>;
  /** The lines of a manifest in S3. */
  readonly manifest: (uri: string) => Promise<unknown[]>;
  /** A relay to the store, which is closed after the tests. */
  readonly relay: (decide?: Parameters<typeof faultyRelay>[1]) => Promise<FaultyRelay>;
  /** Options of a copy by an account with this endpoint. */
  readonly accountAt: (endpoint: string, credentials?: S3Keys) => CopyOf;
}

type Contents = Readonly<Record<string, string | Buffer>>;

export function useCopyFolders(): CopyFolders {
  const s3 = useSeaweedFs();
  const copies = useCopies(() => s3);
  let store: S3Store | undefined;
  let bucket = "";
  let count = 0;
  beforeAll(async () => {
    store = s3Store({ ...s3, endpoint: s3.endpoint, checkAddress: () => null });
    bucket = await s3.bucket();
  });
  const relays: FaultyRelay[] = [];
  afterAll(async () => {
    await store?.close();
    await Promise.all(relays.map((relay) => relay.close()));
  });
  const opened = (): S3Store => {
    if (store === undefined) throw new Error("the store is open only inside tests and hooks");
    return store;
  };
  return {
    s3,
    copies,
    get store() {
      return opened();
    },
    get bucket() {
      return bucket;
    },
    folder() {
      count += 1;
      return `s3://${bucket}/f${count}`;
    },
    async put(folderUri, contents) {
      for (const [name, text] of Object.entries(contents)) {
        await opened().write(`${folderUri}/${name}`, Buffer.from(text));
      }
    },
    contentsOf: (folderUri) => objectsBelow(opened(), folderUri),
    putFiles(folder, contents) {
      for (const [name, text] of Object.entries(contents)) {
        const path = join(copies.files, folder, name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
      }
      return `file://${join(copies.files, folder)}`;
    },
    filesIn(folder) {
      const base = join(copies.files, folder);
      const entries = readdirSync(base, { recursive: true, withFileTypes: true });
      const names = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
      return Object.fromEntries(
        names.toSorted().map((path) => [path.slice(base.length + 1), readFileSync(path, "utf8")]),
      );
    },
    async manifest(uri) {
      const { bytes } = await opened().read(uri);
      const lines = gunzipSync(bytes).toString().split("\n").slice(0, -1);
      return lines.map((line): unknown => JSON.parse(line));
    },
    async relay(decide = () => undefined) {
      const relay = await faultyRelay(s3.endpoint, decide);
      relays.push(relay);
      return relay;
    },
    accountAt: (endpoint, credentials = s3.credentials) => ({
      account: { s3: { endpoint, region: s3.region, credentials } },
    }),
  };
}

/** The contents of all objects below the folder. */
export async function objectsBelow(store: S3Store, folderUri: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { uri } of store.list(`${folderUri}/`)) {
    found[uri.slice(folderUri.length + 1)] = (await store.read(uri)).bytes.toString();
  }
  return found;
}
