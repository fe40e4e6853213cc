import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AddedJournal, journalFile } from "./added-journal.ts";
import type { RefreshedPartition } from "../../catalog/contract.ts";

let folder = "";
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "headgate-journal-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const some = (...names: readonly string[]): RefreshedPartition[] =>
  names.map((name) => ({ name, location: `file:/t/${name}` }));

async function reopened<T>(work: (journal: AddedJournal) => Promise<T>): Promise<T> {
  const journal = await AddedJournal.open(folder);
  try {
    return await work(journal);
  } finally {
    await journal.close();
  }
}

const namesIn = async (journal: AddedJournal): Promise<string[][]> =>
  (await Array.fromAsync(journal.batches())).map((batch) => batch.map(({ name }) => name));

const unsureIn = (journal: AddedJournal): string[][] =>
  journal.unsettled.map(({ partitions }) => partitions.map(({ name }) => name));

test("noted partitions survive a crash, and notes that were not settled are listed as unsettled", async () => {
  await reopened(async (journal) => {
    expect(journal.unsettled).toEqual([]);
    const first = await journal.note(some("n=1", "n=ä\n"));
    await journal.note(some("n=2"));
    await journal.note(some("n=3", "n=4"));
    await first.settle(first.partitions);
  });
  await reopened(async (journal) => {
    expect(unsureIn(journal)).toEqual([["n=2"], ["n=3", "n=4"]]);
    expect(await namesIn(journal)).toEqual([["n=1", "n=ä\n"], ["n=2"], ["n=3", "n=4"]]);
  });
});

test("partitions of a note that were not added do not count, and can be noted again", async () => {
  await reopened(async (journal) => {
    await journal.note(some("n=1"));
    await journal.note(some("n=2", "n=3", "n=4"));
  });
  await reopened(async ({ unsettled: [first, second] }) => {
    await first?.settle(some("n=1"));
    await second?.settle(some("n=3"));
  });
  await reopened(async (journal) => {
    expect(journal.unsettled).toEqual([]);
    await journal.note(some("n=4"));
    expect(await namesIn(journal)).toEqual([["n=1"], ["n=3"], ["n=4"]]);
  });
});

test("a note counts as unsettled if the process dies at any byte while settling it", async () => {
  await reopened((journal) => journal.note(some("n=1", "n=2")));
  const noted = readFileSync(journalFile(folder));
  await reopened(({ unsettled: [note] }) => note?.settle(some("n=1")) ?? Promise.reject(new Error("none")));
  const settled = readFileSync(journalFile(folder));
  expect(settled.subarray(0, noted.length)).toEqual(noted);
  for (let bytes = noted.length; bytes < settled.length; bytes += 1) {
    writeFileSync(journalFile(folder), settled.subarray(0, bytes));
    await reopened((journal) => Promise.resolve(expect(unsureIn(journal)).toEqual([["n=1", "n=2"]])));
  }
});

test("a line that was cut off is ignored", async () => {
  await reopened((journal) => journal.note(some("n=1")));
  appendFileSync(journalFile(folder), '{"note":"7","partitions":[["n=2","file:');
  await reopened(async (journal) => {
    expect(unsureIn(journal)).toEqual([["n=1"]]);
    await journal.note(some("n=3"));
    expect(await namesIn(journal)).toEqual([["n=1"], ["n=3"]]);
  });
  expect(readFileSync(journalFile(folder), "utf8")).not.toContain("n=2");
});

test("lines longer than a read buffer stay whole", async () => {
  const long = Array.from({ length: 5000 }, (_, n) => `n=${n}`.padEnd(150, "x"));
  await reopened(async (journal) => {
    for (let batch = 0; batch < 3; batch += 1) await journal.note(some(...long));
    expect((await namesIn(journal)).flat()).toEqual([...long, ...long, ...long]);
  });
});
