import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { collectGarbage } from "../../../test/memory/live-memory.ts";
import { BulkFiles, syncContents } from "./bulk-files.ts";

const base = mkdtempSync(join(tmpdir(), "headgate-bulk-"));
let root: string;
let files: BulkFiles;
let count = 0;

beforeEach(() => {
  count += 1;
  root = join(base, String(count));
  mkdirSync(root);
  files = new BulkFiles(root, "salt");
});
afterAll(() => rmSync(base, { recursive: true }));

function listed(folder: string): string[] {
  return [...files.list(folder)].flat().map(({ path }) => path);
}

describe("contents that replace a file", () => {
  test("are handed over to be made durable before they do, while the old ones are still there", async () => {
    const seen: string[] = [];
    const contentsOf = (path: string): string => readFileSync(join(root, path), "utf8");
    const see = (descriptor: number, path: string): void => {
      seen.push(`${contentsOf(path)} > ${readFileSync(`/proc/self/fd/${descriptor}`, "utf8")}`);
    };
    const large = (descriptor: number, path: string): Promise<void> => Promise.resolve(see(descriptor, path));
    const replacing = new BulkFiles(root, "salt", { small: see, large });
    replacing.write("a", Buffer.from("old"));
    replacing.write("a", Buffer.from("new"));
    for (const text of ["newer", "newest"]) {
      const file = replacing.create("a");
      await file.write(Buffer.from(text), 0);
      await file.finish();
    }
    expect(seen).toEqual(["old > new", "new > newer", "newer > newest"]);
    expect(contentsOf("a")).toBe("newest");
    replacing.close();
  });

  test("can be synced", async () => {
    const replacing = new BulkFiles(root, "salt", syncContents);
    for (const text of ["old", "new"]) replacing.write("a", Buffer.from(text));
    const file = replacing.create("a");
    await file.write(Buffer.from("newest"), 0);
    await file.finish();
    expect(readFileSync(join(root, "a"), "utf8")).toBe("newest");
    replacing.close();
  });
});

describe("files in bulk", () => {
  test("are written into new folders, listed in all of them and read in ranges", async () => {
    files.write("a/b/one", Buffer.from("hello"));
    files.write("a/two", Buffer.alloc(0));
    expect(listed("").sort()).toEqual(["a/b/one", "a/two"]);
    expect(listed("a/b")).toEqual(["a/b/one"]);
    expect(listed("missing")).toEqual([]);
    expect((await files.read("a/b/one", 1, 3)).bytes.toString()).toBe("ell");
    expect((await files.read("a/b/one", 3, 10)).bytes.toString()).toBe("lo");
    expect(files.stat("a/b/one")).toMatchObject({ size: 5 });
    await files.sync();
    files.close();
  });

  test("are listed in several pages", () => {
    for (let each = 0; each < 2500; each += 1) writeFileSync(join(root, `f${each}`), "");
    expect([...files.list("")].map((page) => page.length)).toEqual([1000, 1000, 500]);
  });

  test("are listed without holding their whole folder in memory", () => {
    const name = (each: number): string => join(root, `${each}-${"long".repeat(50)}`);
    for (let each = 0; each < 10_000; each += 1) writeFileSync(name(each), "");
    const usedBytes = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = usedBytes();
    const pages = files.list("");
    expect(pages.next().value).toHaveLength(1000);
    expect(usedBytes() - before).toBeLessThan(1024 * 1024);
    pages.return(undefined);
  });

  test("appear whole: parts in any order are invisible until the file is finished", async () => {
    const file = files.create("a/large");
    await file.write(Buffer.from("world"), 5);
    expect(listed("")).toEqual([]);
    await file.write(Buffer.from("hello"), 0);
    await file.finish();
    expect(readFileSync(join(root, "a/large"), "utf8")).toBe("helloworld");
  });

  test("leave nothing behind when they are discarded, and what a killed process left can be removed by its path", async () => {
    const discarded = files.create("a/one");
    await discarded.write(Buffer.from("x"), 0);
    await discarded.discard();
    expect(readdirSync(join(root, "a"))).toEqual([]);
    await files.create("a/two").write(Buffer.from("x"), 0); // never finished
    expect(readdirSync(join(root, "a"))).toHaveLength(1);
    new BulkFiles(root, "salt").removeUnfinished("a/two");
    expect(readdirSync(join(root, "a"))).toEqual([]);
    files.removeUnfinished("missing/two");
  });

  test("fail and leave nothing behind where a folder has their name, or a file has the name of their folder", async () => {
    files.write("a/folder/x", Buffer.from("1"));
    expect(() => files.write("a/folder", Buffer.from("2"))).toThrow("a/folder: a folder, not a file");
    const unfinished = files.create("a/folder");
    await expect(unfinished.finish()).rejects.toThrow("a/folder: a folder, not a file");
    await unfinished.discard();
    expect(() => files.write("a/folder/x/y", Buffer.from("3"))).toThrow("a/folder/x/y: not found");
    expect(readdirSync(join(root, "a"))).toEqual(["folder"]);
    expect(listed("")).toEqual(["a/folder/x"]);
  });

  test("that cannot be finished are closed only once, because another file may have got their descriptor", async () => {
    files.write("folder/x", Buffer.alloc(0));
    const failed = files.create("folder");
    await expect(failed.finish()).rejects.toThrow("a folder, not a file");
    const other = files.create("other");
    await failed.discard();
    await other.write(Buffer.from("whole"), 0);
    await other.finish();
    expect(readFileSync(join(root, "other"), "utf8")).toBe("whole");
  });

  test("report their size and time as of the end of a read", async () => {
    files.write("a", Buffer.from("first"));
    const { size, modifiedMs } = files.stat("a");
    expect(await files.read("a", 0, 2)).toMatchObject({ size, modifiedMs });
    const reading = files.read("a", 0, 512 * 1024); // large reads are asynchronous
    writeFileSync(join(root, "a"), "more bytes");
    expect(await reading).toMatchObject({ size: 10 });
  });

  test("are removed, even if they are already gone", () => {
    files.write("a/one", Buffer.alloc(0));
    files.remove("a/one");
    files.remove("a/one");
    files.remove("other/one");
    expect(listed("")).toEqual([]);
  });

  test.each(["", "a/", "a//b", "../x", "a/../x", ".", "a/.put-0123456789abcdef"])("cannot be named %j", (path) => {
    expect(() => files.write(path, Buffer.alloc(0))).toThrow(/not/);
    expect(() => files.create(path)).toThrow(/not/);
  });

  test("do not follow symbolic links, neither of files nor of folders", async () => {
    const outside = join(base, "outside");
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, "secret"), "secret");
    symlinkSync(outside, join(root, "folder"));
    symlinkSync(join(outside, "secret"), join(root, "file"));
    await expect(files.read("folder/secret", 0, 6)).rejects.toThrow("symbolic links are not followed");
    await expect(files.read("file", 0, 6)).rejects.toThrow("symbolic links are not followed");
    expect(() => files.write("folder/new", Buffer.from("x"))).toThrow("symbolic links are not followed");
    expect(() => files.stat("file")).toThrow("symbolic links are not followed");
    expect(listed("")).toEqual([]);
    files.write("file", Buffer.from("mine"));
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("secret");
  });

  test("stay correct with more folders than are kept open", () => {
    for (let each = 0; each < 600; each += 1) files.write(`d${each}/f`, Buffer.from(String(each)));
    for (let each = 0; each < 600; each += 1) {
      expect(readFileSync(join(root, `d${each}/f`), "utf8")).toBe(String(each));
    }
  });
});
