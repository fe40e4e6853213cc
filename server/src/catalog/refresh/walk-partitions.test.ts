import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { fileStore } from "../../object-store/file/file-store.ts";
import type { ObjectStore } from "../../object-store/object-store.ts";
import { settledFolders } from "./settled-folders.ts";
import { walkPartitions, type PartitionFolder, type WalkOptions } from "./walk-partitions.ts";

const root = mkdtempSync(join(tmpdir(), "headgate-walk-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const store = fileStore({ rootDir: root });
const columns = [
  { name: "day", type: "date" },
  { name: "n", type: "int" },
];

let table = "";
let number = 0;
beforeEach(() => {
  number += 1;
  table = join(root, `t${number}`);
});

const make = (...paths: readonly string[]): void =>
  paths.forEach((path) => void mkdirSync(join(table, path), { recursive: true }));

async function walk(given: Partial<WalkOptions> = {}, from: ObjectStore = store) {
  const skipped: string[] = [];
  const options = {
    signal: new AbortController().signal,
    withTimes: false,
    batch: 2500,
    skip: (location: string, why: string) => void skipped.push(`${location.slice(table.length + 6)}: ${why}`),
    ...given,
  };
  const batches = await Array.fromAsync(walkPartitions(from, { location: `file:${table}/`, columns }, options));
  return { found: batches.flat(), skipped: skipped.sort() };
}

const valuesOf = (found: readonly PartitionFolder[]): string[] => found.map(({ values }) => values.join("|")).sort();

describe("the folders of a table", () => {
  test("are its partitions, if their names and depth match its columns; others are reported and skipped", async () => {
    make("day=2026-11-15/n=1/deeper/n=5", "day=2026-11-15/N=02", "DAY=2026-11-16/n=__HIVE_DEFAULT_PARTITION__");
    make("day=2026-11-17", "day=2026-13-45/n=1", "day=2026-11-15/n=abc", "day=2026-11-15/day=2026-11-15", "old/n=1");
    make("_temporary/day=2026-11-15/n=9", ".staging/n=1", "n=1/day=2026-11-15");
    writeFileSync(join(table, "day=2026-11-18"), "a file");
    for (const name of ["day=2026-11-19", "linked"]) symlinkSync(join(table, "day=2026-11-15"), join(table, name));
    writeFileSync(join(table, "day=2026-11-15/n=3"), "a file");
    const { found, skipped } = await walk();
    expect(valuesOf(found)).toEqual(["2026-11-15|02", "2026-11-15|1", "2026-11-16|__HIVE_DEFAULT_PARTITION__"]);
    expect(found.map(({ location }) => location).sort()).toEqual([
      `file:${table}/DAY=2026-11-16/n=__HIVE_DEFAULT_PARTITION__`,
      `file:${table}/day=2026-11-15/N=02`,
      `file:${table}/day=2026-11-15/n=1`,
    ]);
    expect(skipped).toEqual([
      "day=2026-11-15/day=2026-11-15: expected n=value at this level",
      "day=2026-11-15/n=abc: its value is not a valid int",
      "day=2026-11-19: it is a symbolic link, which is not followed",
      "day=2026-13-45: its value is not a valid date",
      "n=1: expected day=value at this level",
      "old: its name is not of the form day=value",
    ]);
  });

  test.each(["s3a://bucket/", "s3a://bucket", "hdfs://h/", "file:/"])(
    "are found at the root of %s",
    async (location) => {
      const listed: string[] = [];
      const rooted: ObjectStore = {
        ...store,
        async *folder(uri) {
          listed.push(uri);
          const name = listed.length === 1 ? "day=2026-11-15" : "n=1";
          yield { kind: "folder", name, uri: `${uri}/${name}`, modifiedAt: null };
        },
      };
      const { signal } = new AbortController();
      const options = { signal, withTimes: false, batch: 2500, skip: () => undefined };
      const found = await Array.fromAsync(walkPartitions(rooted, { location, columns }, options));
      const root = location.replace(/\/$/, "");
      expect(listed.at(-1)).toBe(`${root}/day=2026-11-15`);
      expect(found.flat().map((folder) => folder.location)).toEqual([`${root}/day=2026-11-15/n=1`]);
    },
  );

  test("are none if the location does not exist", async () => {
    expect(await walk()).toEqual({ found: [], skipped: [] });
  });

  test("are read concurrently, at most sixteen of a level", async () => {
    make(...Array.from({ length: 60 }, (_, day) => `day=2026-01-01 ${String(day).padStart(2, "0")}/n=${day}`));
    let [open, most] = [0, 0];
    const counted: ObjectStore = {
      ...store,
      async *folder(uri, options) {
        open += 1;
        most = Math.max(most, open);
        for await (const entry of store.folder(uri, options)) yield entry;
        open -= 1;
      },
    };
    const { found } = await walk({}, counted);
    expect(found).toHaveLength(60);
    expect(most).toBeGreaterThan(8);
    expect(most).toBeLessThanOrEqual(17);
  });

  test("are not read any further after the walk is cancelled", async () => {
    const days = Array.from({ length: 28 }, (_, day) => `day=2026-02-${day + 1}`);
    for (const day of days) make(...Array.from({ length: 40 }, (_, n) => `${day}/n=${n}`));
    const ending = new AbortController();
    let read = 0;
    const watched: ObjectStore = {
      ...store,
      async *folder(uri, options) {
        for await (const entry of store.folder(uri, options)) {
          read += 1;
          if (read === 60) ending.abort(new Error("called off")); // within the second level
          yield entry;
        }
      },
    };
    await expect(walk({ signal: ending.signal }, watched)).rejects.toThrow("called off");
    // Only folders that were already open are read to their end.
    expect(read).toBeLessThan(28 + 18 * 40);
  });
});

test("a huge folder is not read any further after the walk is cancelled", async () => {
  const ending = new AbortController();
  let read = 0;
  const endless: ObjectStore = {
    ...store,
    async *folder(uri) {
      for (;;) {
        read += 1;
        if (read === 5000) ending.abort(new Error("called off"));
        if (read > 20_000) return;
        yield { kind: "file", name: `f${read}`, uri: `${uri}/f${read}`, modifiedAt: null };
      }
    },
  };
  await expect(walk({ signal: ending.signal }, endless)).rejects.toThrow("called off");
  expect(read).toBeLessThanOrEqual(6000);
});

describe("a folder has settled", () => {
  test("unless one cannot be read, and then no more folders are read", async () => {
    make(...Array.from({ length: 60 }, (_, n) => `day=2026-01-01/n=${n}`));
    const { found } = await walk();
    let reads = 0;
    const broken: ObjectStore = {
      ...store,
      // oxlint-disable-next-line require-yield -- the first one fails
      async *folder() {
        reads += 1;
        throw new Error("no disk");
      },
    };
    const since = new Date();
    await expect(settledFolders(broken, found, { since, signal: new AbortController().signal })).rejects.toThrow(
      "no disk",
    );
    expect(reads).toBeLessThanOrEqual(17);
  });

  const old = new Date(Date.now() - 3_600_000);
  const since = new Date(Date.now() - 60_000);
  const age = (...paths: readonly string[]): void => paths.forEach((path) => utimesSync(join(table, path), old, old));
  const { signal } = new AbortController();

  test("when no file or folder in it, at any depth, has changed recently", async () => {
    make("day=2026-01-01/n=1/sub", "day=2026-01-01/n=2/sub", "day=2026-01-01/n=3", "day=2026-01-01/n=4");
    make("day=2026-01-01/n=5/sub");
    for (const n of [1, 2, 3]) writeFileSync(join(table, `day=2026-01-01/n=${n}${n < 3 ? "/sub" : ""}/part`), "x");
    const at = "day=2026-01-01";
    age(`${at}/n=1/sub/part`, `${at}/n=1/sub`, `${at}/n=1`, `${at}/n=2/sub`, `${at}/n=2`, `${at}/n=3/part`);
    age(`${at}/n=4`, `${at}/n=5`);
    const { found } = await walk({ withTimes: true });
    const { settled, unsettled } = await settledFolders(store, found, { since, signal });
    expect(valuesOf(settled)).toEqual(["2026-01-01|1", "2026-01-01|4"]);
    const changed = unsettled.map(({ changed: uri }) => uri.slice(uri.indexOf("/n=") + 1)).sort();
    expect(changed).toEqual(["n=2/sub/part", "n=3", "n=5/sub"]);
  });
});
