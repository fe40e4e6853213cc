import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import type { S3Store } from "../../src/object-store/s3/s3-operations.ts";
import { s3Store } from "../../src/object-store/s3/s3-store.ts";
import { faultyRelay, type Fault, type FaultyRelay, type RelayedRequest } from "../seaweedfs/relay.ts";
import { useSeaweedFs } from "../seaweedfs/seaweedfs.ts";
import { useCopies, type CopyBench, type CopyOf, type CopyRun } from "./copy-run.ts";

type Contents = Readonly<Record<string, string | Buffer>>;
type Decide = (request: RelayedRequest) => Fault | undefined;

/** Copies with a store that fails as a test decides, with functions that check what they leave. */
export interface FaultyCopies {
  readonly bench: CopyBench;
  /** Without faults. */
  readonly store: S3Store;
  /** The URI of a new folder of the bucket. */
  folder(): string;
  newFiles(): { readonly path: string; readonly uri: string };
  /** Writes files or objects into a new folder. */
  putFiles(contents: Contents): string;
  put(contents: Contents): Promise<string>;
  /** Runs a copy through a relay, with the smallest parts. */
  run(args: string, decide: Decide, options?: CopyOf): Promise<CopyRun & { readonly relay: FaultyRelay }>;
  namesBelow(base: string): Promise<string[]>;
  expectObjects(base: string, contents: Readonly<Record<string, Buffer>>): Promise<void>;
  openUploads(base: string): Promise<unknown[]>;
}

export function useFaultyCopies(): FaultyCopies {
  const s3 = useSeaweedFs();
  const bench = useCopies(() => s3);
  const relays: FaultyRelay[] = [];
  let store: S3Store;
  let bucket = "";
  let count = 0;
  beforeAll(async () => {
    store = s3Store({ ...s3, endpoint: s3.endpoint, checkAddress: () => null });
    bucket = await s3.bucket();
  });
  afterAll(async () => {
    for (const relay of relays) await relay.close();
    await store.close();
  });
  const copies: FaultyCopies = {
    bench,
    get store() {
      return store;
    },
    folder: () => `s3://${bucket}/f${++count}`,
    newFiles() {
      const path = join(bench.files, `d${++count}`);
      return { path, uri: `file://${path}` };
    },
    putFiles(contents) {
      const { path, uri } = copies.newFiles();
      for (const [name, text] of Object.entries(contents)) {
        mkdirSync(dirname(join(path, name)), { recursive: true });
        writeFileSync(join(path, name), text);
      }
      return uri;
    },
    async put(contents) {
      const base = copies.folder();
      for (const [name, text] of Object.entries(contents)) await store.write(`${base}/${name}`, Buffer.from(text));
      return base;
    },
    async run(args, decide, options = {}) {
      const relay = await faultyRelay(s3.endpoint, decide);
      relays.push(relay);
      const { region, credentials } = s3;
      const account = { s3: { endpoint: relay.endpoint, region, credentials } };
      const whole = { ...options, account: { ...account, ...options.account } };
      const ran = await bench.run(`--multipartUploadChunkSize 5 ${args}`, whole);
      return { ...ran, relay };
    },
    async namesBelow(base) {
      return (await Array.fromAsync(store.list(`${base}/`))).map(({ uri }) => uri.slice(base.length + 1));
    },
    async expectObjects(base, contents) {
      expect(await copies.namesBelow(base)).toEqual(Object.keys(contents).toSorted());
      for (const [name, bytes] of Object.entries(contents)) {
        expect((await store.read(`${base}/${name}`)).bytes.equals(bytes), name).toBe(true);
      }
    },
    openUploads: (base) => Array.fromAsync(store.openUploads(`${base}/`)),
  };
  return copies;
}

export function expectFiles(path: string, contents: Readonly<Record<string, Buffer>>): void {
  expect(allFiles(path)).toEqual(Object.keys(contents).toSorted());
  for (const [name, bytes] of Object.entries(contents)) {
    expect(readFileSync(join(path, name)).equals(bytes), name).toBe(true);
  }
}

/** Includes temporary files. */
export function allFiles(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .toSorted();
}

/** The operation of a request, such as `PUT partNumber uploadId` or `PUT copy`. */
export function operationOf({ method, url, headers }: Pick<RelayedRequest, "method" | "url" | "headers">): string {
  const names = new URL(url, "http://store").searchParams.keys().toArray();
  const words = names.filter((name) => ["list-type", "uploads", "uploadId", "partNumber", "delete"].includes(name));
  return [method, ...("x-amz-copy-source" in headers ? ["copy"] : []), ...words.toSorted()].join(" ");
}

/** Fails the first request of each operation, which it adds to `seen`. */
export function firstOfEach(fault: Fault, seen: Set<string>): Decide {
  return (request) => {
    const operation = operationOf(request);
    if (seen.has(operation)) return undefined;
    seen.add(operation);
    return fault;
  };
}
