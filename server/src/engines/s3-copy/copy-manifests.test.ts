import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";

const given = useCopyFolders();
const { copies, folder, put, contentsOf, putFiles, filesIn, manifest } = given;

function manifestOf(...entries: readonly (readonly [path: string, srcDir: string, size: number])[]): Buffer {
  const lines = entries.map(([path, srcDir, size]) =>
    JSON.stringify({ path, baseName: path.slice(path.lastIndexOf("/") + 1), srcDir, size }),
  );
  return gzipSync(`${lines.join("\n")}\n`);
}

describe("outputManifest", () => {
  test("lists what was copied in path order, with the sizes of the outputs", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "b/log-1": "one ", "b/log-2": "two", a: "1", é: "" });
    const args = `--src ${src} --dest ${dest} --outputCodec none --groupBy '.*/(log|a|é).*' --outputManifest`;
    expect((await copies.run(args)).end.failure).toBeNull();
    expect(await manifest(`${dest}/manifest.gz`)).toEqual([
      { path: `${dest}/a`, baseName: "a", srcDir: dest, size: 1 },
      { path: `${dest}/b/log`, baseName: "b/log", srcDir: dest, size: 7 },
      { path: `${dest}/é`, baseName: "é", srcDir: dest, size: 0 },
    ]);
  });

  test("is also written if the destination is a folder of files, and is empty if nothing was copied", async () => {
    const src = putFiles("nothing", { a: "1" });
    const dest = `file://${copies.files}/no-output`;
    const args = `--src ${src} --dest ${dest} --srcPattern none --outputManifest=below/m.gz`;
    expect((await copies.run(args)).end.failure).toBeNull();
    expect(Object.keys(filesIn("no-output"))).toEqual(["below/m.gz"]);
    const again = await copies.run(`--previousManifest ${dest}/below/m.gz --copyFromManifest --dest ${folder()}`);
    expect(again.end).toMatchObject({ failure: null, files: 0 });
  });

  test("is not written if the copy fails", async () => {
    const src = putFiles("damaged", { "a.gz": "not gzip", b: "1" });
    const { end } = await copies.run(
      `--src ${src} --dest file://${copies.files}/failed --outputCodec none --outputManifest m.gz`,
    );
    expect(end.failure).toContain(`${src}/a.gz: `);
    expect(existsSync(join(copies.files, "failed/m.gz"))).toBe(false);
  });

  test("never replaces a file of the copy", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "manifest.gz": "data" });
    const { end } = await copies.run(`--src ${src} --dest ${dest} --deleteOnSuccess --outputManifest`);
    expect(end.failure).toBe("manifest.gz: the manifest would replace this file; name another --outputManifest");
    expect(await contentsOf(src)).toEqual({ "manifest.gz": "data" });
  });
});

describe("previousManifest", () => {
  test("skips files of the same name and size, carries them over, and allows an existing destination", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "a.txt": "1", changed: "1" });
    await copies.run(`--src ${src} --dest ${dest} --outputManifest m1.gz`);
    await put(src, { "b.txt": "22", changed: "333" });
    const { end, copied, log } = await copies.run(
      `--src ${src} --dest ${dest} --outputManifest=m2.gz --previousManifest=${dest}/m1.gz`,
    );
    expect(end.failure).toBeNull();
    expect(copied.map(([source]) => source)).toEqual([`${src}/b.txt`, `${src}/changed`]);
    expect(log).toContain("1 files are in the previous manifest: not copied again");
    expect(await manifest(`${dest}/m2.gz`)).toEqual([
      { path: `${dest}/a.txt`, baseName: "a.txt", srcDir: dest, size: 1 },
      { path: `${dest}/b.txt`, baseName: "b.txt", srcDir: dest, size: 2 },
      { path: `${dest}/changed`, baseName: "changed", srcDir: dest, size: 3 },
    ]);
  });

  test("must exist, unless --requirePreviousManifest=false", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { a: "1" });
    const args = `--src ${src} --dest ${dest} --previousManifest ${src}-none.gz`;
    expect((await copies.run(args)).end.failure).toBe(`${src}-none.gz: the previous manifest does not exist`);
    const { end } = await copies.run(`${args} --requirePreviousManifest=false --outputManifest m.gz`);
    expect(end.failure).toBeNull();
    expect(await manifest(`${dest}/m.gz`)).toHaveLength(1);
  });

  test.each([
    ["not gzip", Buffer.from("x"), "The manifest is not a complete gzip file."],
    ["a line that is no entry", gzipSync("{}\n"), "Line 1 of the manifest must have the texts path"],
    [
      "a decompression bomb",
      gzipSync(Buffer.alloc(100 * 1024 * 1024, `${" ".repeat(60_000)}\n`)),
      "The manifest is too large when it is decompressed.",
    ],
  ])("that is wrong fails the job, and its temporary files are removed: %s", async (_what, bytes, message) => {
    const src = putFiles("wrong-manifest", { a: "1", "m.gz": bytes });
    const request = copies.request("");
    const args = `--src ${src}/a --dest file://${copies.files}/never --previousManifest ${src}/m.gz`;
    const { end } = await copies.run(args, { scratchFolder: request.scratchFolder });
    expect(end.failure).toContain(message);
    expect(existsSync(join(copies.files, "never"))).toBe(false);
    expect(readdirSync(request.scratchFolder)).toEqual([]);
  });
});

describe("copyFromManifest", () => {
  const from = (uri: string): string => `--copyFromManifest --previousManifest ${uri}`;

  test("copies the files that the manifest lists, with their paths below srcDir, and nothing else", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "x/a": "1", "x/b/c": "22", "x/d": "3", "y/e": "4" });
    const bytes = manifestOf([`${src}/x/b/c`, `${src}/x`, 2], [`${src}/y/e`, src, 1], [`${src}/x/a`, `${src}/x/`, 1]);
    await put(src, { "m.gz": bytes });
    await put(dest, { old: "0" });
    expect((await copies.run(`--dest ${dest} ${from(`${src}/m.gz`)}`)).end.failure).toBeNull();
    expect(await contentsOf(dest)).toEqual({ old: "0", "b/c": "22", "y/e": "4", a: "1" });
  });

  test("selects, groups and deletes like any other copy, and keeps the storage class", async () => {
    const [src, dest] = [folder(), folder()];
    const attributes = { storageClass: "STANDARD_IA" };
    for (const name of ["log-1", "log-2", "other"]) {
      await given.store.write(`${src}/${name}`, Buffer.from(name), { attributes });
    }
    const names = ["log-1", "log-2", "other"] as const;
    await put(src, { "m.gz": manifestOf(...names.map((name) => [`${src}/${name}`, src, 5] as const)) });
    const args = `--src ${src} --dest ${dest}/1 --groupBy '.*/(log)-.*' --deleteOnSuccess ${from(`${src}/m.gz`)}`;
    expect((await copies.run(args)).end.failure).toBeNull();
    expect(await contentsOf(`${dest}/1`)).toEqual({ log: "log-1log-2" });
    expect((await given.store.head(`${src}/other`)).attributes.storageClass).toBe("STANDARD_IA");
    await put(src, { "n.gz": manifestOf([`${src}/other`, src, 5]) });
    expect((await copies.run(`--dest ${dest}/2 --deleteOnSuccess ${from(`${src}/n.gz`)}`)).end.failure).toBeNull();
    expect((await given.store.head(`${dest}/2/other`)).attributes.storageClass).toBe("STANDARD_IA");
    expect(Object.keys(await contentsOf(src)).sort()).toEqual(["m.gz", "n.gz"]);
  });

  test("deletes files of the storage folder as well", async () => {
    const src = putFiles("manifest-files", { a: "1", b: "2" });
    putFiles("manifest-files", { "m.gz": manifestOf([`${src}/a`, src, 1]) });
    const dest = folder();
    expect((await copies.run(`--dest ${dest} --deleteOnSuccess ${from(`${src}/m.gz`)}`)).end.failure).toBeNull();
    expect(await contentsOf(dest)).toEqual({ a: "1" });
    expect(Object.keys(filesIn("manifest-files"))).toEqual(["b", "m.gz"]);
  });

  test.each([
    ["a file of another account", "file:///etc/passwd", "file:///etc", "must lie below"],
    ["steps out of the account's folder", "ROOT/../other/x", "ROOT", /is not the name of a folder|must lie below/],
    ["a file that does not exist", "SRC/missing", "SRC", "the manifest names a file that does not exist"],
    ["a file of another size", "SRC/a", "SRC", "the file has 1 bytes, but the manifest says 7"],
    ["another bucket without rights", "s3://other-bucket-x/a", "s3://other-bucket-x", "other-bucket-x/a"],
    ["another kind of store", "hdfs:///a/b", "hdfs:///a", "another kind of store than --src"],
  ])("fails before the first byte if a path cannot be read: %s", async (_what, path, srcDir, message) => {
    const [src, dest] = [folder(), folder()];
    const uri = (text: string): string => text.replace("SRC", src).replace("ROOT", `file://${copies.files}`);
    const isFile = uri(path).startsWith("file:");
    const good = isFile ? putFiles("readable", { a: "1" }) : src;
    await put(src, { a: "1" });
    const bytes = manifestOf([`${good}/a`, good, 1], [uri(path), uri(srcDir), 7]);
    await put(src, { "m.gz": bytes });
    const { end } = await copies.run(`--src ${good} --dest ${dest} ${from(`${src}/m.gz`)}`);
    expect(end.failure).toMatch(message);
    expect(await contentsOf(dest)).toEqual({});
  });

  test("fails before the first byte if the account's keys may not read a path", async () => {
    const [src, dest, other] = [folder(), folder(), await given.s3.bucket()];
    await put(src, { a: "1" });
    await put(`s3://${other}`, { b: "1" });
    const Resource = `arn:aws:s3:::${other}/*`;
    const statement = { Effect: "Deny", Principal: "*", Action: "s3:GetObject", Resource };
    await given.s3.setBucketPolicy(other, { Version: "2012-10-17", Statement: [statement] });
    await put(src, { "m.gz": manifestOf([`${src}/a`, src, 1], [`s3://${other}/b`, `s3://${other}`, 1]) });
    const { end } = await copies.run(`--dest ${dest} ${from(`${src}/m.gz`)}`);
    expect(end.failure).toMatch(`s3://${other}/b: access denied`);
    expect(await contentsOf(dest)).toEqual({});
  });
});
