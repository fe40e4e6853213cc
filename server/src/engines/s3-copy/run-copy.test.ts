import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";

const MIB = 1024 * 1024;
const given = useCopyFolders();
const { copies, folder, put, contentsOf, putFiles, filesIn } = given;

const texts = { "a.txt": "one", "b/c.txt": "two", "b/d/e.txt": "" };

describe("a plain copy", () => {
  test("from S3 to S3 has the same names and contents, and reports each file", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, texts);
    const { end, copied, percents, log } = await copies.run(`--src ${src} --dest ${dest}`);
    expect(end).toMatchObject({ failure: null, files: 3, bytes: 6 });
    expect(await contentsOf(dest)).toEqual(texts);
    expect(copied).toEqual(
      Object.entries(texts).map(([name, text]) => [`${src}/${name}`, `${dest}/${name}`, text.length]),
    );
    expect(percents.at(-1)).toBe(99);
    expect(log).toEqual([
      "3 of 3 files matched",
      expect.stringMatching(/^3 of 3 files, 6 B, .*\/s, 0 repeated requests$/),
    ]);
  });

  test("from S3 to files and back keeps names and contents", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, texts);
    const down = await copies.run(`--src ${src}/ --dest file://${copies.files}/down/`);
    expect(down.end.failure).toBeNull();
    expect(filesIn("down")).toEqual(texts);
    const up = await copies.run(`--src file://${copies.files}/down --dest ${dest}`);
    expect(up.end.failure).toBeNull();
    expect(await contentsOf(dest)).toEqual(texts);
  });

  test("of a source that does not exist logs the reason, and no numbers", async () => {
    const missing = folder();
    const { end, log } = await copies.run(`--src ${missing} --dest ${folder()}`);
    expect(end.failure).toContain(`${missing}: the source does not exist`);
    expect(log).toEqual([end.failure]);
  });

  test("of one file keeps its name in the destination folder", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, texts);
    await copies.run(`--src ${src}/b/c.txt --dest ${dest}`);
    expect(await contentsOf(dest)).toEqual({ "c.txt": "two" });
  });

  test("of large objects works in parts, in every direction", async () => {
    const large = randomBytes(11 * MIB + 5);
    const [src, dest, back] = [folder(), folder(), folder()];
    await put(src, { large });
    const options = "--multipartUploadChunkSize 5";
    expect((await copies.run(`--src ${src} --dest file://${copies.files}/large ${options}`)).end.failure).toBeNull();
    expect(readFileSync(join(copies.files, "large/large")).equals(large)).toBe(true);
    expect((await copies.run(`--src file://${copies.files}/large --dest ${dest} ${options}`)).end.failure).toBeNull();
    expect((await given.store.read(`${dest}/large`)).bytes.equals(large)).toBe(true);
    expect((await copies.run(`--src ${dest} --dest ${back} ${options}`)).end.failure).toBeNull();
    expect((await given.store.read(`${back}/large`)).bytes.equals(large)).toBe(true);
    expect(await Array.fromAsync(given.store.openUploads(`s3://${given.bucket}/`))).toEqual([]);
  });

  test.each(["", "a.txt", "b/c"])("fails if the destination has anything below it, or is a file: %j", async (name) => {
    const src = putFiles("source", texts);
    for (const dest of [folder(), `file://${copies.files}/existing-${name.replace("/", "-")}`]) {
      const path = `${dest}${name === "" ? "" : "/"}${name}`;
      if (dest.startsWith("s3:")) await given.store.write(path, Buffer.from("old"));
      else putFiles(dirname(path.slice(`file://${copies.files}/`.length)), { [basename(path)]: "old" });
      const { end } = await copies.run(`--src ${src} --dest ${dest}`);
      const found = name === "" ? basename(dest) : name;
      expect(end.failure).toBe(
        `${dest}: the destination exists already (it has ${found}); name another one, or remove it first`,
      );
    }
  });

  test.each(["--src s3://my_logs/a --dest s3://other/b", "--src s3://other/a --dest s3://my_logs/b"])(
    "is refused for buckets with an underscore: %s",
    async (args) => {
      const { end } = await copies.run(args);
      expect(end).toMatchObject({ isRefused: true });
      expect(end.failure).toMatch(/names a bucket with an underscore, which is not supported/);
    },
  );
});
