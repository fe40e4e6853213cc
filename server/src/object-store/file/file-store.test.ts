import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { because, NO_ROOT } from "../../../test/skip-reasons/skip-reasons.ts";
import { byScheme } from "../by-scheme.ts";
import { getText, type ObjectStore } from "../object-store.ts";
import { fileStore } from "./file-store.ts";

let outside = "";
let root = "";
let store: ObjectStore;

beforeAll(() => {
  outside = realpathSync(mkdtempSync(join(tmpdir(), "headgate-files-")));
  root = join(outside, "root");
  mkdirSync(root);
  writeFileSync(join(outside, "secret"), "secret");
  store = fileStore({ rootDir: root });
});
afterAll(() => {
  rmSync(outside, { recursive: true, force: true });
});

const at = (path: string): string => `file://${root}/${path}`;

describe("a file", () => {
  test("is read back as it was written, in folders created for it", async () => {
    await store.put(at("a/b/ünï %20.txt"), Buffer.from("hello"));
    expect(readFileSync(join(root, "a/b/ünï %20.txt"), "utf8")).toBe("hello");
    const { body, size, etag } = await store.get(`file:${root}//a/b/ünï %20.txt`);
    expect((await buffer(body)).toString()).toBe("hello");
    expect({ size, etag }).toEqual({ size: 5, etag: expect.any(String) });
    expect(await store.stat(at("a/b/ünï %20.txt"))).toMatchObject({ size: 5 });
  });

  test.skipIf(process.getuid?.() !== 0)(
    "written by root belongs to the owner of the store's root, even in a folder that belongs to root",
    because(NO_ROOT),
    async () => {
      const rootDir = mkdtempSync(join(tmpdir(), "headgate-owned-"));
      onTestFinished(() => rmSync(rootDir, { recursive: true }));
      chownSync(rootDir, 12_345, 12_346);
      mkdirSync(join(rootDir, "made"));
      await fileStore({ rootDir }).put(`file://${rootDir}/made/for/them`, Buffer.from("x"));
      for (const path of ["made", "made/for", "made/for/them"]) {
        expect(statSync(join(rootDir, path)), path).toMatchObject({ uid: 12_345, gid: 12_346 });
      }
    },
  );

  test("can be read in part and up to a limit, but not after its end", async () => {
    await store.put(at("range"), Readable.from([Buffer.from("01234"), "56789"]));
    const part = await store.get(at("range"), { range: { offset: 2, length: 3 } });
    expect((await buffer(part.body)).toString()).toBe("234");
    expect(part.size).toBe(10);
    expect(await getText(store, at("range"), 10)).toBe("0123456789");
    await expect(getText(store, at("range"), 9)).rejects.toMatchObject({ kind: "too-large" });
    await expect(store.get(at("range"), { range: { offset: 10 } })).rejects.toMatchObject({ kind: "bad-range" });
  });

  test("is copied completely from an open file, whatever its position", async () => {
    const bytes = Buffer.alloc(2_500_000, "0123456789");
    writeFileSync(join(outside, "source"), bytes);
    const source = await open(join(outside, "source"));
    await source.read(Buffer.alloc(10));
    await store.put(at("copy"), source);
    expect(readFileSync(join(root, "copy")).equals(bytes)).toBe(true);
    const aborted = store.put(at("copy"), source, { signal: AbortSignal.abort(new Error("enough")) });
    await expect(aborted).rejects.toThrow("enough");
    expect((await source.stat()).size).toBe(bytes.length);
    await source.close();
    rmSync(join(outside, "source"));
  });

  test("is replaced completely or not at all", async () => {
    await store.put(at("kept"), Buffer.from("old"));
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from("new");
      throw new Error("the source broke");
    }
    await expect(store.put(at("kept"), Readable.from(broken()))).rejects.toThrow("the source broke");
    const controller = new AbortController();
    const silent = store.put(at("kept"), new Readable({ read: () => undefined }), { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(silent).rejects.toThrow("enough");
    expect(await getText(store, at("kept"), 9)).toBe("old");
    expect(readdirSync(root).filter((name) => name.startsWith(".put-"))).toEqual([]);
    await store.put(at("kept"), Buffer.from("new"));
    expect(await getText(store, at("kept"), 9)).toBe("new");
  });

  test("can be deleted twice and is missing afterwards", async () => {
    await store.put(at("gone"), Buffer.from("x"));
    await store.delete(at("gone"));
    await store.delete(at("gone"));
    await store.delete(at("no/such/folder/gone"));
    for (const call of [() => store.get(at("gone")), () => store.stat(at("gone")), () => store.get(at("no/such"))]) {
      await expect(call()).rejects.toMatchObject({ kind: "missing" });
    }
  });

  test("is not a folder or a pipe", async () => {
    mkdirSync(join(root, "folder"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    await expect(store.get(at("folder"))).rejects.toMatchObject({ kind: "missing" });
    await expect(store.get(at("pipe"))).rejects.toMatchObject({ kind: "denied" });
    await expect(store.put(at("folder"), Buffer.from("x"))).rejects.toMatchObject({ kind: "bad-request" });
  });
});

describe("a listing", () => {
  test("has S3's order, respects maxKeys and after, and shows only regular files", async () => {
    const names = ["Z", "a.x", "a/1", "a/2", "a0", "b/c/d", "é"];
    for (const name of names) await store.put(at(`list/${name}`), Buffer.from(name));
    symlinkSync(join(outside, "secret"), join(root, "list/link"));
    symlinkSync(outside, join(root, "list/out"));
    writeFileSync(join(root, "list/.put-0123456789abcdef"), "unfinished");
    const keys = async (prefix: string, options = {}): Promise<string[]> =>
      (await Array.fromAsync(store.list(at(prefix), options))).map(({ key }) => key.slice(root.length + 6));
    expect(await keys("list/")).toEqual(names);
    expect(await keys("list/a")).toEqual(["a.x", "a/1", "a/2", "a0"]);
    expect(await keys("list/a/")).toEqual(["a/1", "a/2"]);
    expect(await keys("list/", { maxKeys: 2 })).toEqual(["Z", "a.x"]);
    expect(await keys("list/", { after: `${root}/list/a/1` })).toEqual(names.slice(3));
    expect(await keys("list/", { after: `${root}/list/b/c` })).toEqual(["b/c/d", "é"]);
    expect(await keys("list/none")).toEqual([]);
    const [first] = await Array.fromAsync(store.list(at("list/")));
    expect(first).toMatchObject({ uri: at("list/Z"), size: 1, etag: expect.any(String) });
  });
});

describe("a folder", () => {
  test("lists its direct files, folders and links, and nothing if it does not exist", async () => {
    for (const name of ["d=1/x", "d=1/y/z", "_SUCCESS"]) await store.put(at(`folder/${name}`), Buffer.from(name));
    mkdirSync(join(root, "folder/empty"));
    symlinkSync(outside, join(root, "folder/out"));
    writeFileSync(join(root, "folder/.put-0123456789abcdef"), "unfinished");
    for (const uri of [at("folder"), at("folder/")]) {
      const found = await Array.fromAsync(store.folder(uri));
      expect(found.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
        { kind: "file", name: "_SUCCESS", uri: at("folder/_SUCCESS"), modifiedAt: null },
        { kind: "folder", name: "d=1", uri: at("folder/d=1"), modifiedAt: null },
        { kind: "folder", name: "empty", uri: at("folder/empty"), modifiedAt: null },
        { kind: "link", name: "out", uri: at("folder/out"), modifiedAt: null },
      ]);
    }
    expect(await Array.fromAsync(store.folder(at("fold")))).toEqual([]);
    expect((await Array.fromAsync(store.folder(`file://${root}`))).map(({ name }) => name)).toContain("folder");
  });

  test("lists times if requested", async () => {
    await store.put(at("times/a/b"), Buffer.from("x"));
    const then = new Date("2026-01-31T12:00:00Z");
    utimesSync(join(root, "times/a"), then, then);
    const [entry] = await Array.fromAsync(store.folder(at("times"), { withTimes: true }));
    expect(entry).toEqual({ kind: "folder", name: "a", uri: at("times/a"), modifiedAt: then });
  });

  test("outside of the root or reached by a link is not read", async () => {
    await expect(Array.fromAsync(store.folder(`file://${outside}`))).rejects.toMatchObject({ kind: "bad-uri" });
    await expect(Array.fromAsync(store.folder(at("folder/../..")))).rejects.toMatchObject({ kind: "bad-uri" });
    await expect(Array.fromAsync(store.folder(at("folder/out")))).rejects.toMatchObject({ kind: "denied" });
  });
});

describe("nothing outside of the root can be reached:", () => {
  test.each(["../secret", "a/../../secret", "a/./b", "..", ".", "", "a/"])("the path %j is rejected", async (path) => {
    for (const call of [
      () => store.get(at(path)),
      () => store.put(at(path), Buffer.from("x")),
      () => store.delete(at(path)),
    ]) {
      await expect(call()).rejects.toMatchObject({ kind: "bad-uri" });
    }
  });

  test("a name of an unfinished file is neither read nor written, but it can be deleted", async () => {
    const uri = at(".put-0123456789abcdef");
    for (const call of [() => store.get(uri), () => store.put(uri, Buffer.from("x"))]) {
      await expect(call()).rejects.toMatchObject({ kind: "bad-uri" });
    }
    writeFileSync(join(root, ".put-0123456789abcdef"), "");
    await store.delete(uri);
    expect(existsSync(join(root, ".put-0123456789abcdef"))).toBe(false);
  });

  test("other roots, and one with the same beginning, are rejected, for listings too", async () => {
    for (const uri of ["file:///etc/passwd", `file://${outside}/secret`, `file://${root}x/y`, "s3://bucket/key"]) {
      await expect(store.get(uri)).rejects.toMatchObject({ kind: "bad-uri" });
      expect(() => store.list(uri)).toThrow(/^the URI must/);
    }
    expect(() => store.list(at("a/../../"))).toThrow("must not have . or .. in its path");
  });

  test("symbolic links are never followed: as the file, as a folder, inside the root, or dangling", async () => {
    symlinkSync(join(outside, "secret"), join(root, "link"));
    symlinkSync(outside, join(root, "way"));
    symlinkSync(join(root, "a"), join(root, "inside"));
    symlinkSync(join(outside, "new"), join(root, "dangling"));
    for (const path of ["link", "way/secret", "inside/b/x", "dangling"]) {
      await expect(store.get(at(path)), path).rejects.toMatchObject({ kind: "denied" });
      await expect(store.stat(at(path)), path).rejects.toMatchObject({ kind: "denied" });
    }
    await expect(store.put(at("way/planted"), Buffer.from("x"))).rejects.toMatchObject({ kind: "denied" });
    await expect(store.delete(at("way/secret"))).rejects.toMatchObject({ kind: "denied" });
    await store.put(at("dangling"), Buffer.from("replaced the link, not its target"));
    await store.delete(at("link"));
    expect(readdirSync(outside).toSorted()).toEqual(["root", "secret"]);
  });

  test("replacing a folder by a link during a write does not move the file outside", async () => {
    await store.put(at("swap/old"), Buffer.from("x"));
    async function* swapping(): AsyncGenerator<Buffer> {
      yield Buffer.from("first");
      rmSync(join(root, "swap"), { recursive: true });
      symlinkSync(outside, join(root, "swap"));
      yield Buffer.from("second");
    }
    await expect(store.put(at("swap/new"), Readable.from(swapping()))).rejects.toMatchObject({ kind: "denied" });
    expect(readdirSync(outside).toSorted()).toEqual(["root", "secret"]);
  });
});

test("a combined store uses the store of each URI's scheme", async () => {
  const joined = byScheme({ file: store });
  await joined.put(at("joined"), Buffer.from("x"));
  expect(await getText(joined, at("joined"), 1)).toBe("x");
  await expect(joined.get("hdfs://host/x")).rejects.toMatchObject({ kind: "bad-uri" });
  await joined.close();
});
