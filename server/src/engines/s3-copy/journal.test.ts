import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Journal, journalFile } from "./journal.ts";
import { JournalError } from "./journal-line.ts";
import { readLeftovers } from "./journal-state.ts";
import type { SourceFile } from "./plan/planned-output.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "headgate-journal-"));
  folders.push(folder);
  return folder;
}

function source(name: string, size = 1): SourceFile {
  return { uri: `s3://bucket/${name}`, name, size, modifiedMs: 5, etag: "e", storageClass: null };
}

async function* each<T>(...values: T[]): AsyncGenerator<T> {
  yield* values;
  await Promise.resolve();
}

/** Names of outputs, and rows of sources. */
async function finishedIn(folder: string, journal: Journal): Promise<[string[], [string, number, string][]]> {
  const finished = await journal.finishedOutputs(folder, new AbortController().signal);
  const rows: [string, number, string][] = [];
  for await (const { source: from, output } of finished.sources()) rows.push([from.uri, from.size, output]);
  const outputs = await Array.fromAsync(finished.outputs());
  return [outputs.map(({ name, bytes, size }) => `${name} ${bytes} ${size}`), rows];
}

describe("the journal of a copy", () => {
  test("lets timers run while it writes the rows of a large group, and holds only some of them in memory", async () => {
    const folder = newFolder();
    const journal = await Journal.open(folder);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    let bytesBeforeTheEnd = 0;
    async function* members(): AsyncGenerator<SourceFile> {
      for (let at = 0; at < 20_000; at += 1) yield source(`m${at}`);
      bytesBeforeTheEnd = statSync(journalFile(folder)).size;
    }
    await journal.noteJoined({ name: "b", bytes: 20_000, size: 20_000 }, members());
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
    expect(bytesBeforeTheEnd).toBeGreaterThan(19_000 * 40);
    expect((await finishedIn(folder, journal))[1]).toHaveLength(20_000);
    await journal.close();
  });

  test("knows after a restart which outputs and uploads were left, and which are done", async () => {
    const folder = newFolder();
    const first = await Journal.open(folder);
    expect(first.isContinued).toBe(false);
    await first.begin(["a", "b", "c"]);
    await first.noteUpload({ uri: "s3://bucket/out/b", uploadId: "one" });
    await first.noteUpload({ uri: "s3://bucket/out/c", uploadId: "two" });
    first.noteClosed({ uploadId: "one" });
    first.noteDone({ name: "a", bytes: 3, size: 3 }, source("a", 3));
    await first.noteJoined({ name: "b", bytes: 7, size: 5 }, each(source("b1", 4), source("b2", 3)));
    await first.close();

    const second = await Journal.open(folder);
    expect(second.isContinued).toBe(true);
    expect(second.id).toBe(first.id);
    expect(second.leftUploads).toEqual([{ uri: "s3://bucket/out/c", uploadId: "two" }]);
    expect(second.leftOutputs).toEqual(["c"]);
    expect(await Array.fromAsync(second.begunNames())).toEqual(["a", "b", "c"]);
    expect(await finishedIn(folder, second)).toEqual([
      ["a 3 3", "b 7 5"],
      [
        ["s3://bucket/a", 3, "a"],
        ["s3://bucket/b1", 4, "b"],
        ["s3://bucket/b2", 3, "b"],
      ],
    ]);
    await second.close();
  });

  test("does not count the sources of an output whose last line a crash has cut off", async () => {
    const folder = newFolder();
    const first = await Journal.open(folder);
    await first.begin(["b"]);
    await first.close();
    appendFileSync(journalFile(folder), '["row",1,"b","s3://bucket/b1",4,"e",5]\n["done","b",7,7,1');
    const second = await Journal.open(folder);
    await second.noteJoined({ name: "b", bytes: 7, size: 5 }, each(source("b1", 4), source("b2", 3)));
    const [, rows] = await finishedIn(folder, second);
    expect(rows.map(([uri]) => uri)).toEqual(["s3://bucket/b1", "s3://bucket/b2"]);
    await second.close();
  });

  test("counts each output once, as its last attempt left it", async () => {
    const event = fc.record({ name: fc.constantFrom("a", "b", "é/c"), kind: fc.constantFrom("begin", "done", "void") });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const folder = newFolder();
        const first = await Journal.open(folder);
        await first.begin(["a"]);
        await first.close();
        const journal = await Journal.open(folder);
        const last = new Map<string, string | null>();
        for (const [at, { name, kind }] of events.entries()) {
          if (kind === "begin") await journal.begin([name]);
          if (kind === "void") journal.noteVoid(name);
          if (kind === "done" && at % 2 === 0) journal.noteDone({ name, bytes: at, size: at }, source(`s${at}`));
          if (kind === "done" && at % 2 === 1) {
            await journal.noteJoined({ name, bytes: at, size: at }, each(source(`s${at}`)));
          }
          last.set(name, kind === "done" ? `s3://bucket/s${at}` : null);
        }
        const [outputs, rows] = await finishedIn(folder, journal);
        await journal.close();
        const expected = [...last].flatMap(([name, uri]) => (uri === null ? [] : [`${uri} ${name}`]));
        expect(rows.map(([uri, , name]) => `${uri} ${name}`).toSorted()).toEqual(expected.toSorted());
        expect(outputs).toHaveLength(expected.length);
      }),
      { numRuns: 30 },
    );
  });

  test("does not trust files that were written before the machine stopped, as they may not have reached the disk", async () => {
    const folder = newFolder();
    const first = await Journal.open(folder);
    await first.begin(["a"]);
    first.noteDone({ name: "a", bytes: 1, size: 1 }, source("a"));
    await first.close();
    const path = journalFile(folder);
    writeFileSync(path, readFileSync(path, "utf8").replace(/\["boot","[^"]*"\]/, '["boot","another"]'));
    const second = await Journal.open(folder);
    second.noteDone({ name: "b", bytes: 1, size: 1 }, source("b"));
    const states = async (losesWrites: boolean) =>
      (await Array.fromAsync(second.earlierOutputs({ losesWrites }))).map(({ name, state }) => `${name} ${state}`);
    expect(await states(true)).toEqual(["a begun", "a begun", "b done"]);
    expect(await states(false)).toEqual(["a begun", "a done", "b done"]);
    await second.close();
  });

  test("does not count a manifest as left once it is written", async () => {
    const folder = newFolder();
    const first = await Journal.open(folder);
    await first.beginManifest("m.gz");
    await first.close();
    const second = await Journal.open(folder);
    expect(second.leftOutputs).toEqual(["m.gz"]);
    second.noteManifest("m.gz");
    await second.close();
    expect((await readLeftovers(journalFile(folder)))?.leftOutputs).toEqual([]);
  });
});

describe("the server reads a journal that it does not trust", () => {
  const id = '["id","0123456789abcdef"]\n';
  /** A thousand short names, which take more memory than their characters. */
  const beginLine = (first: number): string =>
    `${JSON.stringify(["begin", ...Array.from({ length: 1000 }, (_, at) => String(first + at))])}\n`;

  test("and finds what was left, although names fill many lines", async () => {
    const folder = newFolder();
    const journal = await Journal.open(folder);
    const names = Array.from({ length: 3000 }, (_, at) => `${at}-${"\u0001".repeat(1000)}`);
    await journal.begin(names);
    await journal.close();
    const left = await readLeftovers(journalFile(folder));
    expect(left).toEqual({ id: journal.id, leftUploads: [], leftOutputs: names, leftTemporaries: [] });
  });

  test("and neither follows a link nor changes the file", async () => {
    const folder = newFolder();
    const target = join(folder, "target");
    writeFileSync(target, `${id}["begin","a"]\n["begin`);
    symlinkSync(target, journalFile(folder));
    expect(await readLeftovers(journalFile(folder))).toBeUndefined();
    expect((await readLeftovers(target))?.leftOutputs).toEqual(["a"]);
    expect(readFileSync(target, "utf8")).toBe(`${id}["begin","a"]\n["begin`);
  });

  test.each([
    ["a line that is too long", `${id}["begin","${"a".repeat(1024 * 1024)}"]\n`],
    ["a line without an end", `${id}["begin","${"a".repeat(2 * 1024 * 1024)}`],
    ["more than fits into memory", id + `["begin","x${"a".repeat(1_000_000)}"]\n`.repeat(2)],
    ["more names than a copy can have", id + Array.from({ length: 200 }, (_, at) => beginLine(1000 * at)).join("")],
    ["text that is not JSON", `${id}begin\n`],
    ["an unknown line", `${id}["__proto__","a"]\n`],
    ["a line of another shape", `${id}["upload","s3://b/k",{"toString":1}]\n`],
    ["an object", `${id}{"0":"begin","length":1}\n`],
    ["no id", '["begin","a"]\n'],
    ["an id that is a path", '["id","../../etc"]\n'],
  ])("and gives up on %s", async (problem, text) => {
    const path = journalFile(newFolder());
    const isMuch = problem === "more than fits into memory";
    writeFileSync(path, isMuch ? id : text);
    for (let at = 0; isMuch && at < 40; at += 1) appendFileSync(path, `["begin","${at}${"a".repeat(1_000_000)}"]\n`);
    await expect(readLeftovers(path)).rejects.toThrow(JournalError);
  });
});
