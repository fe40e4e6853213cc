import { readFileSync, writeFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";
import { Journal, journalFile } from "./journal.ts";

const given = useCopyFolders();
const { copies, folder, put, contentsOf, putFiles } = given;

/** As if the attempt had ended just before its last step. */
function takeBackCompletion(command: string): void {
  const path = journalFile(copies.request("", { command }).journalFolder);
  writeFileSync(path, readFileSync(path, "utf8").replace('["complete"]\n', ""));
}

/** Writes files at the destination; null removes one. */
async function change(dest: string, contents: Readonly<Record<string, string | null>>): Promise<void> {
  for (const [name, text] of Object.entries(contents)) {
    const path = `${dest}/${name}`.replace("file://", "");
    if (text === null) await (dest.startsWith("s3") ? given.store.delete(`${dest}/${name}`) : rm(path));
    else await (dest.startsWith("s3") ? put(dest, { [name]: text }) : writeFile(path, text));
  }
}

describe("a later attempt", () => {
  test("continues where the previous one ended: finished outputs are not copied again, and all are reported", async () => {
    const src = putFiles("again", { a: "1", b: "2" });
    const dest = folder();
    const first = await copies.run(`--src ${src} --dest ${dest}`, { command: "again" });
    expect(first.end.files).toBe(2);
    takeBackCompletion("again");
    putFiles("again", { c: "3" });
    const second = await copies.run(`--src ${src} --dest ${dest}`, { command: "again" });
    expect(second.end).toMatchObject({ failure: null, files: 1 });
    expect(second.copied.map(([, to]) => to)).toEqual([`${dest}/a`, `${dest}/b`, `${dest}/c`]);
    expect(second.log).toContain("2 outputs were finished by an earlier attempt");
  });

  test("aborts the uploads that the previous one has left open", async () => {
    const [src, dest] = [putFiles("left", { a: "1" }), folder()];
    const command = "left";
    await copies.run(`--src ${src} --dest ${dest}`, { command });
    takeBackCompletion(command);
    const uploadId = await given.store.createUpload(`${dest}/b`);
    const journal = await Journal.open(copies.request("", { command }).journalFolder);
    await journal.begin(["b"]);
    await journal.noteUpload({ uri: `${dest}/b`, uploadId });
    await journal.close();
    expect((await copies.run(`--src ${src} --dest ${dest}`, { command })).end.failure).toBeNull();
    expect(await Array.fromAsync(given.store.openUploads(`${dest}/`))).toEqual([]);
  });

  test("only deletes the remaining sources if all outputs were finished", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "log-a": "1", "log-b": "2" });
    const args = `--src ${src} --dest ${dest} --groupBy '.*/(log)-.*'`;
    await copies.run(args, { command: "deleting" });
    await given.store.delete(`${src}/log-a`); // as if the attempt had been killed while it deleted
    const { end, log } = await copies.run(`${args} --deleteOnSuccess`, { command: "deleting" });
    expect(end.failure).toBeNull();
    expect(log).toEqual([
      "an earlier attempt has copied all files; this one copies nothing",
      expect.stringMatching(/^0 of 0 files, 0 B, /),
    ]);
    expect(await contentsOf(src)).toEqual({});
    expect(await contentsOf(dest)).toEqual({ log: "12" });
  });

  test.each(["s3", "file"])("copies outputs again that were removed or replaced meanwhile: %s", async (scheme) => {
    const command = `emptied-${scheme}`;
    const src = putFiles(command, { a: "precious", b: "2", c: "3" });
    const dest = scheme === "s3" ? folder() : `file://${copies.files}/${command}-out`;
    const args = `--src ${src} --dest ${dest} --deleteOnSuccess`;
    expect((await copies.run(args.replace(" --deleteOnSuccess", ""), { command })).end.failure).toBeNull();
    takeBackCompletion(command);
    await change(dest, { a: null, b: "other" });
    expect((await copies.run(args, { command })).end).toMatchObject({ failure: null, files: 2, earlierFiles: 1 });
    const copied = scheme === "s3" ? await contentsOf(dest) : given.filesIn(`${command}-out`);
    expect(copied).toEqual({ a: "precious", b: "2", c: "3" });
    expect(given.filesIn(command)).toEqual({});
  });

  test("copies outputs again that are gone from a destination that may exist", async () => {
    const command = "emptied-existing";
    const [src, dest] = [putFiles(command, { a: "precious" }), folder()];
    const args = `--src ${src} --dest ${dest} --previousManifest ${dest}/none --requirePreviousManifest=false`;
    expect((await copies.run(args, { command })).end.failure).toBeNull();
    takeBackCompletion(command);
    await change(dest, { a: null });
    expect((await copies.run(`${args} --deleteOnSuccess`, { command })).end.failure).toBeNull();
    expect(await contentsOf(dest)).toEqual({ a: "precious" });
  });

  test("deletes no source if all outputs were finished but one is gone or has another size", async () => {
    for (const [command, now] of [
      ["gone", null],
      ["replaced", "other"],
    ] as const) {
      const [src, dest] = [putFiles(command, { a: "precious", b: "2" }), folder()];
      await copies.run(`--src ${src} --dest ${dest}`, { command });
      await change(dest, { b: now });
      const { end } = await copies.run(`--src ${src} --dest ${dest} --deleteOnSuccess`, { command });
      expect(end.failure).toContain(
        `${dest}/b: an earlier attempt has copied it, but it was removed or replaced since`,
      );
      expect(given.filesIn(command)).toEqual({ a: "precious", b: "2" });
    }
  });

  test("accepts the manifest of an attempt that had nothing to copy and was killed after it", async () => {
    const command = "only-manifest";
    const [src, dest] = [putFiles(command, { a: "1" }), folder()];
    const args = `--src ${src} --dest ${dest} --srcPattern .*/none --outputManifest`;
    expect((await copies.run(args, { command })).end.failure).toBeNull();
    takeBackCompletion(command);
    expect((await copies.run(args, { command })).end.failure).toBeNull();
    expect(await given.manifest(`${dest}/manifest.gz`)).toEqual([]);
  });

  test("fails if the destination has a file that no attempt has begun", async () => {
    const [src, dest] = [putFiles("foreign", { a: "1" }), folder()];
    await copies.run(`--src ${src} --dest ${dest}`, { command: "foreign" });
    takeBackCompletion("foreign");
    await put(dest, { stranger: "x" });
    const { end } = await copies.run(`--src ${src} --dest ${dest}`, { command: "foreign" });
    expect(end.failure).toMatch(/the destination exists already \(it has stranger\)/);
  });
});
