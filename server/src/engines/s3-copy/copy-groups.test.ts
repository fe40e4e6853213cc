import { randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";

const MIB = 1024 * 1024;
const given = useCopyFolders();
const { copies, folder, put, contentsOf, putFiles, filesIn } = given;

describe("patterns", () => {
  test("match whole URIs; if nothing matches, the copy succeeds and the log explains it", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "a.gz": "1", "b.gz": "2", "c.txt": "3" });
    for (const pattern of ["--srcPattern 'a'", "--groupBy '(gz)'"]) {
      const { end, log } = await copies.run(`--src ${src} --dest ${dest} ${pattern}`);
      expect(end).toMatchObject({ failure: null, files: 0 });
      expect(log).toContain("0 of 3 files matched");
      expect(log.join("\n")).toMatch(/must match the whole URI of a file, such as s3:\/\/.*begin it with \.\*/);
    }
    const { log } = await copies.run(`--src ${src} --dest ${dest} --srcPattern '.*/[ab]\\.gz'`);
    expect(log).toContain("2 of 3 files matched");
    expect(log.join("\n")).not.toContain("whole URI");
    expect(await contentsOf(dest)).toEqual({ "a.gz": "1", "b.gz": "2" });
  });

  test("match the URI with the scheme that --src is written with", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { a: "1" });
    const written = src.replace("s3:", "s3n:");
    const { end } = await copies.run(`--src ${written} --dest ${dest} --srcPattern '${written}/.*'`);
    expect(end).toMatchObject({ failure: null, files: 1 });
  });

  test.each([
    ["--groupBy '.*'", "--groupBy must contain a group in parentheses"],
    ["--groupBy '.*(?:a).*'", "--groupBy must contain a group in parentheses"],
    ["--groupBy '(a)' --srcPattern b", "--srcPattern and --groupBy cannot be combined"],
    ["--srcPattern 'a(?=b)'", "lookahead"],
    ["--srcPattern '('", /./],
  ])("that are wrong fail the job before the first byte, and it is not retried: %s", async (args, text) => {
    const [src, dest] = [putFiles("wrong", { a: "1" }), folder()];
    const { end } = await copies.run(`--src ${src} --dest ${dest} ${args}`);
    expect(end.failure).toMatch(text);
    expect(end.isRefused).toBe(true);
    expect(await contentsOf(dest)).toEqual({});
  });
});

describe("groups", () => {
  test("join files in the byte order of their paths, without recompressing them", async () => {
    const [src, dest] = [folder(), folder()];
    const [first, second] = [gzipSync("first "), gzipSync("second")];
    await put(src, { "2026/log-b.gz": second, "2026/log-B.gz": first, "2026/other": "x" });
    const { end } = await copies.run(`--src ${src} --dest ${dest} --groupBy '.*/(log)-[a-zA-Z](\\.gz)'`);
    expect(end.failure).toBeNull();
    const { bytes } = await given.store.read(`${dest}/2026/log.gz`);
    expect(bytes.equals(Buffer.concat([first, second]))).toBe(true);
    expect(gunzipSync(bytes).toString()).toBe("first second");
    expect(Object.keys(await contentsOf(dest))).toEqual(["2026/log.gz"]);
  });

  test("are named by all captured texts: an unmatched text is empty, and files with an empty key are not copied", async () => {
    const src = putFiles("keys", { "x1-a": "1 ", "x1-b": "2 ", "y-c": "3 ", "-d": "4 ", "p/x1-e": "5 " });
    const dest = folder();
    const { end, log } = await copies.run(`--src ${src} --dest ${dest} --groupBy '.*/([xy])?(\\d)?-.*'`);
    expect(end.failure).toBeNull();
    expect(log).toContain("4 of 5 files matched");
    expect(await contentsOf(dest)).toEqual({ "p/x1": "5 1 2 ", y: "3 " });
  });

  test("of large and small members are joined by server-side copies", async () => {
    const parts = [randomBytes(6 * MIB), Buffer.from("small"), randomBytes(5 * MIB), randomBytes(100)];
    const [src, dest] = [folder(), folder()];
    await put(src, Object.fromEntries(parts.map((bytes, at) => [`part-${at}`, bytes])));
    const { end } = await copies.run(`--src ${src} --dest ${dest} --groupBy '.*/(part)-.*'`);
    expect(end.failure).toBeNull();
    expect((await given.store.read(`${dest}/part`)).bytes.equals(Buffer.concat(parts))).toBe(true);
  });

  test("are split into outputs of the target size, numbered before the extension of the codec", async () => {
    const [a, b, c] = [randomBytes(MIB - 1), randomBytes(1), randomBytes(100)];
    const src = putFiles("target", { "k1.gz": a, "k2.gz": b, "k3.gz": c, "single-1.gz": c });
    const args = `--src ${src} --groupBy '.*/(k|single).*(\\.gz)' --targetSize 1`;
    const dest = folder();
    expect((await copies.run(`${args} --dest ${dest}`)).end.failure).toBeNull();
    const sizes = Object.fromEntries(
      (await Array.fromAsync(given.store.list(`${dest}/`))).map(({ uri, size }) => [uri.slice(dest.length + 1), size]),
    );
    expect(sizes).toEqual({ "k0.gz": MIB, "k1.gz": 100, "single.gz": 100 });
  });

  test.each([
    ["mixed-codecs", { "k1.gz": gzipSync("1"), k2: "2" }, "in one group but compressed differently: add --outputCodec"],
    ["Parquet", { "k1.parquet": "1", "k2.parquet": "2" }, "cannot be concatenated with other files: Parquet and ORC"],
    ["ORC", { "k1.orc": "1", "k2.orc": "2" }, "cannot be concatenated with other files: Parquet and ORC"],
  ])("of %s are refused before the first byte", async (what, contents: Record<string, string | Buffer>, message) => {
    const [src, dest] = [putFiles(what, { ...contents, "a-1": "1" }), folder()];
    const { end } = await copies.run(`--src ${src} --dest ${dest} --groupBy '.*/([ak]).*'`);
    expect(end.failure).toContain(message);
    expect(await contentsOf(dest)).toEqual({});
  });
});

describe("outputCodec", () => {
  test.each([
    ["gzip", "gz"],
    ["gz", "gz"],
    ["lzo", "lzo"],
    ["snappy", "snappy"],
  ])("%s and back gives the same contents", async (codec, extension) => {
    const [src, coded, plain] = [folder(), folder(), folder()];
    const text = "a line of text\n".repeat(20_000);
    await put(src, { "a.txt": text, empty: "", "b.gz": gzipSync("zipped") });
    expect((await copies.run(`--src ${src} --dest ${coded} --outputCodec ${codec}`)).end.failure).toBeNull();
    expect(Object.keys(await contentsOf(coded)).sort()).toEqual([
      `a.txt.${extension}`,
      `b.${extension}`,
      `empty.${extension}`,
    ]);
    expect((await copies.run(`--src ${coded} --dest ${plain} --outputCodec none`)).end.failure).toBeNull();
    expect(await contentsOf(plain)).toEqual({ "a.txt": text, empty: "", b: "zipped" });
  });

  test("decodes and joins members with different codecs", async () => {
    const src = putFiles("codecs", { "log-1.gz": gzipSync("first "), "log-2": "second" });
    const dest = folder();
    const args = `--src ${src} --dest ${dest} --groupBy '.*/(log)-.*' --outputCodec gzip`;
    expect((await copies.run(args)).end.failure).toBeNull();
    const { bytes } = await given.store.read(`${dest}/log.gz`);
    expect(gunzipSync(bytes).toString()).toBe("first second");
  });

  test("fails with the name of a damaged file", async () => {
    const src = putFiles("damaged", { "a.gz": gzipSync("x".repeat(1000)).subarray(0, 20) });
    const { end } = await copies.run(`--src ${src} --dest file://${copies.files}/undamaged --outputCodec none`);
    expect(end.failure).toContain(`${src}/a.gz: `);
  });

  test("refuses two inputs that would become one output, before the first byte", async () => {
    const src = putFiles("two", { "a.gz": gzipSync("1"), a: "2", "0": "3" });
    const dest = folder();
    const { end } = await copies.run(`--src ${src} --dest ${dest} --outputCodec none`);
    expect(end.failure).toMatch(/\/a(?:\.gz)? and .*\/a(?:\.gz)? would both become a\.$/);
    expect(await contentsOf(dest)).toEqual({});
  });
});

test("numberFiles numbers the outputs in path order from startingIndex", async () => {
  const src = putFiles("numbers", { "b/x": "3", a: "1", "b/B": "2" });
  const dest = `file://${copies.files}`;
  expect((await copies.run(`--src ${src} --dest ${dest}/numbered --numberFiles`)).end.failure).toBeNull();
  expect(filesIn("numbered")).toEqual({ "0a": "1", "b/1B": "2", "b/2x": "3" });
  const from = `--src ${src} --dest ${dest}/from-9 --numberFiles --startingIndex=9`;
  expect((await copies.run(from)).end.failure).toBeNull();
  expect(filesIn("from-9")).toEqual({ "9a": "1", "b/10B": "2", "b/11x": "3" });
  expect((await copies.run(`--src ${src} --dest ${dest}/alone --startingIndex 9`)).end.failure).toBeNull();
  expect(filesIn("alone")).toEqual({ a: "1", "b/B": "2", "b/x": "3" });
});

describe("appendToLastFile", () => {
  test("puts new members after the existing contents of the output", async () => {
    const src = putFiles("append-1", { "log-a": "first " });
    const dest = `file://${copies.files}/appended`;
    const options = `--dest ${dest} --groupBy '.*/(log)-.*' --appendToLastFile`;
    expect((await copies.run(`--src ${src} ${options}`)).end.failure).toBeNull();
    const more = putFiles("append-2", { "log-b": "second" });
    expect((await copies.run(`--src ${more} ${options}`)).end.failure).toBeNull();
    expect(filesIn("appended")).toEqual({ log: "first second" });
  });
});
