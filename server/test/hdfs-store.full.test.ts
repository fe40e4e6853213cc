import { open, writeFile } from "node:fs/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { startMiniHdfs, type MiniHdfs } from "./mini-hadoop/mini-hadoop.ts";
import { faultyRelay } from "./seaweedfs/relay.ts";
import { findSparkHome, SET_UP_MS } from "./support/connect-server.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { fileQuestion } from "../src/catalog/sensors/file-question.ts";
import { checkFiles } from "../src/catalog/sensors/check-files.ts";
import { getText, type ObjectEntry, type ObjectStore } from "../src/object-store/object-store.ts";
import { hdfsStore } from "../src/object-store/hdfs/hdfs-store.ts";

const MiB = 1024 * 1024;

// Skipped on machines without Java or Python.
describe.skipIf(sparkIsMissing)("a real HDFS", () => {
  let hdfs: MiniHdfs;
  let store: ObjectStore;

  beforeAll(async () => {
    const { cacheDir } = inject("postgres");
    hdfs = await startMiniHdfs(await findSparkHome(cacheDir), cacheDir);
    const address = hdfs.webHdfs.replace("/webhdfs/v1", "");
    store = hdfsStore({ address, user: "us", checkAddress: () => null, retries: 0 });
  }, SET_UP_MS);

  afterAll(async () => {
    await store?.close();
    await hdfs?.stop();
  });

  const at = (path: string): string => `hdfs://nn:8020${path}`;

  test("returns a file as it was stored, whole and in part", async () => {
    await store.put(at("/a/range"), Buffer.from("0123456789"));
    const { body, size, modifiedAt, etag } = await store.get(at("//a//range"));
    expect((await buffer(body)).toString()).toBe("0123456789");
    expect(await store.stat(at("/a/range"))).toEqual({ size, modifiedAt, etag });
    expect([size, etag]).toEqual([10, expect.any(String)]);
    expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(60_000);
    const part = async (offset: number, length?: number): Promise<string> =>
      (await buffer((await store.get(at("/a/range"), { range: { offset, length } })).body)).toString();
    expect([await part(2, 3), await part(7), await part(8, 100)]).toEqual(["234", "789", "89"]);
    await expect(part(10)).rejects.toMatchObject({ kind: "bad-range" });
  });

  test("replaces a file atomically, and accepts streams and open files", async () => {
    await store.put(at("/a/new"), Buffer.from("old"));
    await store.put(at("/a/new"), Readable.from([Buffer.from("new "), Buffer.from("text")]));
    expect(await getText(store, at("/a/new"), 100)).toBe("new text");
    const folder = mkdtempSync(join(tmpdir(), "headgate-hdfs-"));
    await writeFile(join(folder, "f"), Buffer.alloc(3 * MiB, "x"));
    const file = await open(join(folder, "f"));
    try {
      await store.put(at("/a/new"), file);
    } finally {
      await file.close();
      rmSync(folder, { recursive: true });
    }
    expect((await store.stat(at("/a/new"))).size).toBe(3 * MiB);
    await store.put(at("/a/empty"), Readable.from([]));
    expect(await getText(store, at("/a/empty"), 0)).toBe("");
  });

  test("keeps the old file and leaves no other when an upload fails", async () => {
    await store.put(at("/broken/f"), Buffer.from("old"));
    const body = Readable.from(
      (async function* () {
        yield Buffer.alloc(MiB);
        throw new Error("the source is gone");
      })(),
    );
    await expect(store.put(at("/broken/f"), body)).rejects.toThrow("the source is gone");
    expect(await getText(store, at("/broken/f"), 100)).toBe("old");
    const left = (await (await fetch(`${hdfs.webHdfs}/broken?op=LISTSTATUS`)).json()) as {
      FileStatuses: { FileStatus: { pathSuffix: string }[] };
    };
    expect(left.FileStatuses.FileStatus.map(({ pathSuffix }) => pathSuffix)).toEqual(["f"]);
  });

  test("stores a file although the answer to its renaming is lost", async () => {
    let renamings = 0;
    const relay = await faultyRelay(hdfs.webHdfs.replace("/webhdfs/v1", ""), ({ url }) =>
      url.includes("op=RENAME") && ++renamings === 1 ? { kind: "lost-answer" } : undefined,
    );
    const relayed = hdfsStore({ address: relay.endpoint, user: "us", checkAddress: () => null, retries: 1 });
    try {
      await relayed.put(at("/lost/f"), Buffer.from("new"));
    } finally {
      await relayed.close();
      await relay.close();
    }
    expect(renamings).toBe(2);
    expect(await getText(store, at("/lost/f"), 100)).toBe("new");
  });

  test.each(["with space", "a+b", "100%25", "ünï/🎉.txt", "q?x=1&y#z", "!'()*;@$,=~", "<&>\"'", "day=2026-01-31%3A"])(
    "stores and lists a file with the name %j",
    async (name) => {
      const uri = at(`/odd/${name}`);
      await store.put(uri, Buffer.from(name));
      expect(await getText(store, uri, 100)).toBe(name);
      expect((await all(store.list(uri))).map(({ uri }) => uri)).toEqual([uri]);
      await store.delete(uri);
      await expect(store.stat(uri)).rejects.toMatchObject({ kind: "missing" });
    },
  );

  test("refuses a name with a colon, and the name of an existing folder", async () => {
    await expect(store.put(at("/odd/a:b"), Buffer.from("x"))).rejects.toMatchObject({ kind: "bad-request" });
    await store.put(at("/full/f"), Buffer.from("x"));
    await expect(store.put(at("/full"), Buffer.from("x"))).rejects.toMatchObject({ kind: "bad-request" });
    expect(await getText(store, at("/full/f"), 10)).toBe("x");
  });

  test("deletes files, also missing ones, but no folders", async () => {
    await store.put(at("/gone/f"), Buffer.from("x"));
    await store.delete(at("/gone/f"));
    await store.delete(at("/gone/f"));
    await expect(store.get(at("/gone/f"))).rejects.toMatchObject({ kind: "missing" });
    await expect(store.delete(at("/gone"))).rejects.toMatchObject({ kind: "bad-request" });
    await expect(store.get(at("/gone"))).rejects.toMatchObject({ kind: "missing" });
    expect((await fetch(`${hdfs.webHdfs}/gone?op=GETFILESTATUS`)).status).toBe(200);
  });

  test("lists in byte order, with a prefix, after a key, and up to a limit", async () => {
    const paths = ["a-x", "a.b", "a/1", "a/2/3", "a1", "b", "Z", "é"].map((name) => `/list/${name}`);
    await Promise.all(paths.map((path) => store.put(at(path), Buffer.from(path))));
    const sorted = paths.toSorted((a, b) => Buffer.from(a).compare(Buffer.from(b)));
    const keys = async (listed: AsyncIterable<ObjectEntry>): Promise<string[]> =>
      (await all(listed)).map(({ key }) => key);
    expect(await keys(store.list(at("/list/")))).toEqual(sorted);
    expect(await keys(store.list(at("/list/a"), { maxKeys: 4 }))).toEqual(sorted.slice(1, 5));
    expect(await keys(store.list(at("/list/"), { after: "/list/a/1" }))).toEqual(sorted.slice(4));
    expect(await keys(store.list(at("/list/a/2")))).toEqual(["/list/a/2/3"]);
    expect(await keys(store.list(at("/nothing/here")))).toEqual([]);
    expect(await keys(store.list(at("/list/b/")))).toEqual([]);
    const [first] = await all(store.list(at("/list/Z")));
    expect(first).toMatchObject({ uri: at("/list/Z"), size: 7, etag: expect.any(String) });
  });

  test("shows a sensor which files and folders exist", async () => {
    await store.put(at("/sensed/day=1/part"), Buffer.from("x"));
    const kept = { ...store, close: () => Promise.resolve() };
    const noteKeysWork = () => Promise.resolve();
    const storage = {
      open: () =>
        Promise.resolve({ store: kept, location: at("/"), hasKeys: false, hdfsHttpAddress: "", noteKeysWork }),
    };
    const ask = (...paths: string[]) => checkFiles(storage, 1, [fileQuestion(paths.map(at))]);
    expect(await ask("/sensed/day=1/part", "/sensed", "/sensed/day=1/")).toEqual([true]);
    expect(await ask("/sensed/day=1/part", "/sensed/day=2")).toEqual([false]);
    await store.delete(at("/sensed/day=1/part"));
    expect(await ask("/sensed/day=1")).toEqual([false]);
  });

  test("lists the direct entries of a folder, and none if it does not exist", async () => {
    for (const name of ["d=1/x", "d=1/y/z", "_SUCCESS"]) await store.put(at(`/folder/${name}`), Buffer.from(name));
    for (const uri of [at("/folder"), at("/folder/")]) {
      const found = await Array.fromAsync(store.folder(uri));
      expect(found.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
        { kind: "file", name: "_SUCCESS", uri: at("/folder/_SUCCESS"), modifiedAt: expect.any(Date) },
        { kind: "folder", name: "d=1", uri: at("/folder/d=1"), modifiedAt: expect.any(Date) },
      ]);
    }
    expect(await Array.fromAsync(store.folder(at("/fold")))).toEqual([]);
  });

  test("lists a folder with more files than fit in one response", async () => {
    const names = Array.from({ length: 1200 }, (_, n) => `/many/${String(n).padStart(5, "0")}`);
    for (let n = 0; n < names.length; n += 16) {
      await Promise.all(names.slice(n, n + 16).map((name) => store.put(at(name), Buffer.alloc(0))));
    }
    expect((await all(store.list(at("/many/")))).map(({ key }) => key)).toEqual(names);
  });
});

async function all(entries: AsyncIterable<ObjectEntry>): Promise<ObjectEntry[]> {
  return Array.fromAsync(entries);
}
