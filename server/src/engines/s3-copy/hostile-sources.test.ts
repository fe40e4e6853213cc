import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { useCopies } from "../../../test/support/copy-run.ts";
import { allFiles } from "../../../test/support/faulty-copies.ts";
import { gzipBomb } from "../../../test/support/gzip-bomb.ts";
import { listPage, useMemoryS3 } from "../../../test/support/memory-s3.ts";

/** Sources that lie, change or expand while they are copied. */
const s3 = useMemoryS3();
const copies = useCopies(() => s3.account);
let count = 0;
let out = "";
let dest = "";

beforeEach(() => {
  s3.objects.clear();
  s3.pageSize = 10;
  s3.onRequest = () => undefined;
  count += 1;
  out = join(copies.files, `out-${count}`);
  dest = `file://${out}`;
});

function fill(prefix: string, from: number, to: number): string[] {
  const names = Array.from({ length: to - from }, (_, at) => `${prefix}${String(from + at).padStart(3, "0")}`);
  for (const name of names) s3.objects.set(`in/${name}`, name);
  return names;
}

describe("a listing", () => {
  test.each([1, 2, 3])("whose page %i comes twice fails the copy instead of doubling its rows", async (page) => {
    fill("k", 0, 50);
    let pages = 0;
    let repeated = "";
    s3.onRequest = ({ query }) => {
      if (!query.has("list-type")) return undefined;
      if (query.has("start-after")) return 400; // the listing is not split
      pages += 1;
      // The page after it has the same keys, but leads on.
      if (pages === page + 1) return repeated;
      const answer = listPage(s3, query);
      const next = /<NextContinuationToken>.*<\/NextContinuationToken>/.exec(answer)?.[0] ?? "";
      if (pages === page) repeated = answer.replace(next, "<NextContinuationToken>in/k030</NextContinuationToken>");
      return answer;
    };
    const { end, copied } = await copies.run(`--src s3://memory/in --dest ${dest} --outputManifest`);
    expect(end.failure).toMatch(/^s3:\/\/memory\/in\/: (a page repeats keys|the listing repeats a page)/);
    expect(copied).toEqual([]);
    expect(existsSync(join(out, "manifest.gz"))).toBe(false);
  });

  test("that changes between its pages has each file once, as it is when it is listed", async () => {
    const names = fill("k", 0, 60);
    let pages = 0;
    s3.onRequest = ({ query }) => {
      if (!query.has("list-type")) return undefined;
      if (query.has("start-after")) return 400; // the listing is not split
      if (++pages !== 2) return undefined;
      for (const key of ["in/k000a", "in/k055", "in/k059a"]) s3.objects.set(key, "new");
      s3.objects.delete("in/k050");
      return undefined;
    };
    const { end, copied } = await copies.run(`--src s3://memory/in --dest ${dest}`);
    expect(end.failure).toBeNull();
    const left = names.filter((name) => name !== "k050");
    expect(copied.map(([source]) => source)).toEqual([...left, "k059a"].map((name) => `s3://memory/in/${name}`));
    expect(readFileSync(join(out, "k055"), "utf8")).toBe("new");
  });
});

describe("a manifest", () => {
  const manifestOf = (...entries: readonly (readonly [path: string, srcDir: string, size: number])[]): void => {
    const lines = entries.map(([path, srcDir, size]) => JSON.stringify({ path, baseName: "x", srcDir, size }));
    writeFileSync(join(copies.files, "m.gz"), gzipSync(lines.join("\n")));
  };
  const args = (): string => `--dest ${dest} --copyFromManifest --previousManifest file://${copies.files}/m.gz`;

  test.each(["../out", "a/../../../out", "..", "./a", "a//b", "a/", "a".repeat(300)])(
    "with the key %j writes nothing, neither below the destination nor outside",
    async (name) => {
      s3.objects.set(`in/${name}`, "1");
      manifestOf([`s3://memory/in/${name}`, "s3://memory/in", 1]);
      const before = allFiles(copies.files);
      expect((await copies.run(args())).end.failure).toMatch(/ cannot be copied to a folder: its path /);
      expect(allFiles(copies.files)).toEqual(before);
    },
  );

  test("with the same file twice does not copy it twice", async () => {
    s3.objects.set("in/a", "1");
    manifestOf(["s3://memory/in/a", "s3://memory/in", 1], ["s3://memory/in/a", "s3://memory/in", 1]);
    const { copied } = await copies.run(args());
    expect(copied.length).toBeLessThanOrEqual(1);
    expect(allFiles(out)).toEqual(["a"]);
  });
});

test("a file that expands a thousandfold is not written on after the copy was told to end", async () => {
  const mib = 1024 * 1024;
  writeFileSync(join(copies.files, "bomb.gz"), gzipBomb(1024));
  const ending = new AbortController();
  let largest = 0;
  const watch = setInterval(() => {
    for (const name of allFiles(out)) {
      largest = Math.max(largest, statSync(join(out, name), { throwIfNoEntry: false })?.size ?? 0);
    }
    if (largest > 16 * mib) ending.abort(new Error("ended"));
  }, 5);
  const args = `--src file://${copies.files}/bomb.gz --dest ${dest} --outputCodec none`;
  const { end } = await copies.run(args, { signal: ending.signal });
  clearInterval(watch);
  expect(end.failure).toBe("the copy failed: ended");
  expect(largest).toBeLessThan(512 * mib);
  expect(allFiles(out)).toEqual([]);
});
