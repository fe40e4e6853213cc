import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";
import { cleanUpCopy } from "./clean-up.ts";
import { Journal, journalFile } from "./journal.ts";

const given = useCopyFolders();
const { copies } = given;
const signal = new AbortController().signal;

function journalFolder(command: string): string {
  return copies.request("", { command }).journalFolder;
}

/** Changes the journal as if the attempt had ended in another way. */
function editJournal(command: string, edit: (text: string) => string): void {
  const path = journalFile(journalFolder(command));
  writeFileSync(path, edit(readFileSync(path, "utf8")));
}

/** As if the attempt had ended just before its last step. */
function takeBackCompletion(command: string): void {
  editJournal(command, (text) => text.replace('["complete"]\n', ""));
}

/** As if the attempt had been killed just before it noted that outputs are done. */
function takeBackDone(command: string): void {
  takeBackCompletion(command);
  editJournal(command, (text) => text.replaceAll(/^\["(?:done|row)",.*\n/gm, ""));
}

async function lines(uri: string): Promise<string[]> {
  return (await given.manifest(uri)).map((line) => (line as { baseName: string }).baseName);
}

describe("an attempt after the sources have changed", () => {
  test("copies changed sources again even if sizes are equal, and deletes only sources that are at the destination", async () => {
    const [src, dest] = [given.folder(), given.folder()];
    await given.put(src, { "log-1": "one", "log-2": "two", "x-1": "old" });
    const args = `--src ${src} --dest ${dest} --groupBy '.*/(log|x)-.*' --outputManifest m.gz`;
    expect((await copies.run(args, { command: "shift" })).end.failure).toBeNull();
    takeBackCompletion("shift");
    await given.store.delete(`${src}/log-1`);
    await given.put(src, { "log-0": "zer", "x-1": "new" });
    const { end, copied } = await copies.run(`${args} --deleteOnSuccess`, { command: "shift" });
    expect(end.failure).toBeNull();
    const { "m.gz": _, ...contents } = await given.contentsOf(dest);
    expect(contents).toEqual({ log: "zertwo", x: "new" });
    expect(copied).toEqual([
      [`${src}/log-0`, `${dest}/log`, 3],
      [`${src}/log-2`, `${dest}/log`, 3],
      [`${src}/x-1`, `${dest}/x`, 3],
    ]);
    expect(await lines(`${dest}/m.gz`)).toEqual(["log", "x"]);
    expect(await given.contentsOf(src)).toEqual({});
  });

  test.each(["s3", "file"])("removes outputs whose sources now have other outputs: %s", async (scheme) => {
    const command = `numbers-${scheme}`;
    const src = given.putFiles(command, { b: "2", c: "3" });
    const dest = scheme === "s3" ? given.folder() : `file://${copies.files}/${command}-out`;
    const args = `--src ${src} --dest ${dest} --numberFiles --outputManifest m.gz`;
    expect((await copies.run(args, { command })).end.failure).toBeNull();
    takeBackCompletion(command);
    given.putFiles(command, { a: "1" });
    const { end, copied, log } = await copies.run(args, { command });
    expect(end.failure).toBeNull();
    const { "m.gz": _, ...contents } = scheme === "s3" ? await given.contentsOf(dest) : given.filesIn(`${command}-out`);
    expect(contents).toEqual({ "0a": "1", "1b": "2", "2c": "3" });
    expect(copied.map(([source, to]) => `${source} ${to}`)).toEqual(
      ["a 0a", "b 1b", "c 2c"].map((pair) => `${src}/${pair.replace(" ", ` ${dest}/`)}`),
    );
    expect(log.join("\n")).toContain(
      "2 outputs of earlier attempts are not planned any more, because the sources have changed: removed",
    );
  });

  test.each(["", "--groupBy '.*/(\\w+)-.*'"])("keeps outputs whose sources are gone: %s", async (option) => {
    const command = `last-copy-${option.length}`;
    const src = given.putFiles(command, { "a-1": "precious", "a-2": "2", "b-1": "3" });
    const dest = `file://${copies.files}/${command}-out`;
    const args = `--src ${src} --dest ${dest} --outputManifest m.gz ${option}`;
    expect((await copies.run(args, { command })).end.failure).toBeNull();
    takeBackCompletion(command);
    const { "m.gz": _, ...before } = given.filesIn(`${command}-out`);
    for (const name of ["a-1", "a-2"]) rmSync(join(copies.files, command, name));
    const { end, copied, log } = await copies.run(args, { command });
    expect(end.failure).toBeNull();
    expect(given.filesIn(`${command}-out`)).toMatchObject(before);
    expect(copied.map(([source]) => source)).toEqual([`${src}/b-1`]);
    const names = Object.keys(before).filter((name) => name.startsWith("a"));
    expect(log.join("\n")).toContain(`because some sources are gone: ${names.join(", ")}`);
  });

  test("keeps a group's output if one of its sources is gone, although the others have new outputs", async () => {
    const command = "last-member";
    const src = given.putFiles(command, { "x1/a-1": "precious ", "x2/a-2": "2" });
    const dest = `file://${copies.files}/${command}-out`;
    const args = `--src ${src} --dest ${dest} --groupBy '.*/(a)-.*'`;
    expect((await copies.run(args, { command })).end.failure).toBeNull();
    takeBackCompletion(command);
    rmSync(join(copies.files, command, "x1/a-1"));
    expect((await copies.run(args, { command })).end.failure).toBeNull();
    expect(given.filesIn(`${command}-out`)).toEqual({ "x1/a": "precious 2", "x2/a": "2" });
  });

  test("leaves files that the destination may have had before, and does not report them", async () => {
    const command = "had-before";
    const src = given.putFiles(command, { a: "1", b: "2" });
    const dest = given.folder();
    const args = `--src ${src} --dest ${dest} --outputManifest m.gz --previousManifest ${dest}/none --requirePreviousManifest=false`;
    expect((await copies.run(args, { command })).end.failure).toBeNull();
    takeBackCompletion(command);
    renameSync(join(copies.files, command, "a"), join(copies.files, command, "c"));
    const { end, copied } = await copies.run(args, { command });
    expect(end.failure).toBeNull();
    expect(copied.map(([, to]) => to)).toEqual([`${dest}/b`, `${dest}/c`]);
    expect(await lines(`${dest}/m.gz`)).toEqual(["b", "c"]);
    expect(await given.contentsOf(dest)).toMatchObject({ a: "1", b: "2", c: "1" });
  });
});

describe("an attempt after the machine has stopped", () => {
  test("writes files again that may not have reached the disk", async () => {
    const src = given.putFiles("power", { a: "1" });
    const args = `--src ${src} --dest file://${copies.files}/power-out`;
    await copies.run(args, { command: "power" });
    takeBackCompletion("power");
    editJournal("power", (text) => text.replace(/\["boot","[^"]*"\]/, '["boot","another"]'));
    writeFileSync(join(copies.files, "power-out/a"), "");
    const { end } = await copies.run(args, { command: "power" });
    expect(end).toMatchObject({ failure: null, files: 1, earlierFiles: 0 });
    expect(given.filesIn("power-out")).toEqual({ a: "1" });
  });
});

describe("an attempt that repeats an append", () => {
  async function appendTwice(command: string, original: Record<string, string>, options = "") {
    const src = given.putFiles(command, { "log-b": "second" });
    mkdirSync(join(copies.files, `${command}-out`));
    given.putFiles(`${command}-out`, original);
    for (const name of Object.keys(original)) utimesSync(join(copies.files, `${command}-out`, name), 5, 5);
    const args = `--src ${src} --dest file://${copies.files}/${command}-out --groupBy '.*/(log)-.*' --appendToLastFile`;
    expect((await copies.run(`${args} ${options}`, { command })).end.failure).toBeNull();
    takeBackDone(command);
    const { end } = await copies.run(`${args} ${options}`, { command });
    return { failure: end.failure, files: given.filesIn(`${command}-out`) };
  }

  test("appends the contents once, whether the file existed before or not", async () => {
    expect(await appendTwice("append-more", { log: "first " })).toEqual({
      failure: null,
      files: { log: "first second" },
    });
    expect(await appendTwice("append-new", {})).toEqual({ failure: null, files: { log: "second" } });
  });

  test("fails if the compression hides how much was appended", async () => {
    const src = given.putFiles("append-gzip-before", { "log-a": "first " });
    const dest = `file://${copies.files}/append-gzip-out`;
    const args = `--dest ${dest} --groupBy '.*/(log)-.*' --appendToLastFile --outputCodec gzip`;
    expect((await copies.run(`--src ${src} ${args}`)).end.failure).toBeNull();
    const more = given.putFiles("append-gzip", { "log-b": "second" });
    expect((await copies.run(`--src ${more} ${args}`, { command: "append-gzip" })).end.failure).toBeNull();
    takeBackDone("append-gzip");
    const { end } = await copies.run(`--src ${more} ${args}`, { command: "append-gzip" });
    expect(end.failure).toContain("an earlier attempt may have appended to this file already");
  });

  test("does not append at all without groups", async () => {
    const src = given.putFiles("append-plain", { a: "new" });
    given.putFiles("append-plain-out", { a: "old" });
    const dest = `file://${copies.files}/append-plain-out`;
    const { end } = await copies.run(`--src ${src} --dest ${dest} --appendToLastFile`);
    expect(end.failure).toContain("the destination exists already");
  });
});

test("a continued copy reports its own files and those of earlier attempts separately", async () => {
  const command = "totals";
  const src = given.putFiles(command, { a: "1", b: "22" });
  const args = `--src ${src} --dest ${given.folder()}`;
  const first = await copies.run(args, { command });
  expect(first.end).toMatchObject({ files: 2, earlierFiles: 0 });
  takeBackCompletion(command);
  given.putFiles(command, { c: "3" });
  const second = await copies.run(args, { command });
  expect(second.end).toMatchObject({ files: 1, bytes: 1, earlierFiles: 2 });
  expect(second.progress.at(-1)).toMatchObject({ files: 3, totalFiles: 3, bytes: 4 });
  const third = await copies.run(args, { command });
  expect(third.end).toMatchObject({ failure: null, files: 0, earlierFiles: 3 });
});

describe("the clean-up by the server", () => {
  async function left(command: string, dest: string): Promise<{ journal: Journal; uploadId: string }> {
    const journal = await Journal.open(journalFolder(command));
    await journal.begin(["a"]);
    const uploadId = await given.store.createUpload(`${dest}/a`);
    await journal.noteUpload({ uri: `${dest}/a`, uploadId });
    return { journal, uploadId };
  }

  test("aborts uploads and removes unfinished files, and writes nothing to the journal", async () => {
    const dest = given.folder();
    const { journal } = await left("killed", dest);
    await journal.close();
    const path = journalFile(journalFolder("killed"));
    const before = readFileSync(path, "utf8");
    const request = copies.request(`--src ${given.folder()} --dest ${dest}`, { command: "killed" });
    expect(await cleanUpCopy(request, signal)).toBe(2);
    expect(await Array.fromAsync(given.store.openUploads(`${dest}/`))).toEqual([]);
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  test("finds nothing after a copy with a manifest that ended by itself", async () => {
    const src = given.putFiles("ended", { a: "1" });
    const args = `--src ${src} --dest ${given.folder()} --outputManifest m.gz`;
    expect((await copies.run(args, { command: "ended" })).end.failure).toBeNull();
    expect(await cleanUpCopy(copies.request(args, { command: "ended" }), signal)).toBe(0);
  });

  test("touches nothing outside the destination and the copy's own temporary files", async () => {
    const [dest, other] = [given.folder(), given.folder()];
    const { journal } = await left("outside", other);
    await journal.close();
    const request = copies.request(`--src ${given.folder()} --dest ${dest}`, { command: "outside" });
    await expect(cleanUpCopy(request, signal)).rejects.toThrow("names files that the copy does not write");
    expect(await Array.fromAsync(given.store.openUploads(`${other}/`))).toHaveLength(1);
    const tmp = `file://${copies.files}`;
    const victim = join(copies.files, "victim");
    writeFileSync(victim, "keep");
    const spooling = await Journal.open(journalFolder("spooling"));
    await spooling.noteTemporary(`${tmp}/victim`);
    await spooling.close();
    const args = `--src ${given.folder()} --dest ${dest} --tmpDir ${tmp}`;
    await expect(cleanUpCopy(copies.request(args, { command: "spooling" }), signal)).rejects.toThrow(
      "names files that the copy does not write",
    );
    expect(existsSync(victim)).toBe(true);
  });

  test("does not follow a symbolic link in place of the journal", async () => {
    const target = join(copies.files, "precious");
    writeFileSync(target, "no newline");
    mkdirSync(journalFolder("link"), { recursive: true });
    symlinkSync(target, journalFile(journalFolder("link")));
    const request = copies.request(`--src ${given.folder()} --dest ${given.folder()}`, { command: "link" });
    expect(await cleanUpCopy(request, signal)).toBe(0);
    expect(readFileSync(target, "utf8")).toBe("no newline");
  });
});
