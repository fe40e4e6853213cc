import { readdirSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { each, plainOptions, sourceFile, useCopyPlans } from "../../../../test/support/copy-plans.ts";
import { bytesPerMiB } from "../../../lib/size-text.ts";
import type { ManifestEntry } from "../manifest/manifest-entry.ts";
import type { PlanContext, PlanOptions } from "./plan-context.ts";
import { planOutputs, type CopyPlan } from "./plan-outputs.ts";
import type { SourceFile } from "./planned-output.ts";

const plans = useCopyPlans();
const planOf = plans.plan;

function file(name: string, size = 1, base = "s3://b/in/"): SourceFile {
  return sourceFile(name, { uri: base + name, size });
}

/** Each output as `name < sources`, with its recoding. */
async function outputsOf(plan: CopyPlan): Promise<string[]> {
  const found: string[] = [];
  for await (const output of plan) {
    const sources = await Array.fromAsync(output.sources());
    expect(output.sourceCount).toBe(sources.length);
    expect(output.bytes).toBe(sources.reduce((sum, { size }) => sum + size, 0));
    expect(output.single).toEqual(sources.length === 1 ? sources[0] : null);
    const recoding = output.recoding === null ? "" : ` (${output.recoding.to ?? "decoded"})`;
    found.push(`${output.name} < ${sources.map(({ name }) => name).join(" ")}${recoding}`);
  }
  plan.close();
  return found;
}

async function outputs(names: readonly string[], options: Partial<PlanOptions>): Promise<string[]> {
  return outputsOf(
    planOf(
      names.map((name) => file(name)),
      options,
    ),
  );
}

describe("a plan", () => {
  test("keeps names, in the order of the listing", async () => {
    expect(await outputs(["b", "a/c d+%2F=é", "x//y/./.."], {})).toEqual([
      "b < b",
      "a/c d+%2F=é < a/c d+%2F=é",
      "x//y/./.. < x//y/./..",
    ]);
  });

  test("yields the first output of a plain copy before the second page is listed", async () => {
    let listed = 0;
    async function* sources(): AsyncGenerator<readonly SourceFile[]> {
      for (; listed < 5; listed += 1) yield [file(`f${listed}`)];
    }
    const plan = planOutputs(sources(), plainOptions, { scratchFolder: plans.scratchFolder, destinationScheme: "s3" });
    const listedBefore: [string, number][] = [];
    for await (const { name } of plan) listedBefore.push([name, listed]);
    expect(listedBefore).toEqual(Array.from({ length: 5 }, (_, at) => [`f${at}`, at]));
  });

  test("keeps all properties of a source", async () => {
    const sources = [file("b/a.gz", 7), { ...file("c", 8, "other"), uri: "hdfs://h/else", etag: null }];
    const found: SourceFile[] = [];
    for await (const { single } of planOf(sources, { outputCodec: "none" })) if (single !== null) found.push(single);
    expect(found).toEqual(sources);
  });

  test.each<[string, string[], Partial<PlanOptions>, string[]]>([
    [
      "copies only what the pattern matches as a whole",
      ["a.gz", "a.gz.bak", "b/c.gz"],
      { srcPattern: ".*\\.gz" },
      ["a.gz < a.gz", "b/c.gz < b/c.gz"],
    ],
    ["skips markers of folders", ["a"], { srcPattern: ".*" }, ["a < a"]],
    [
      "groups by key, in byte order of paths",
      ["x/2-b", "x/1-a", "x/1-B", "x/2-é", "x/2-z", "skip"],
      { groupBy: ".*/(\\d)-.*" },
      ["x/1 < x/1-B x/1-a", "x/2 < x/2-b x/2-z x/2-é"],
    ],
    [
      "names a group after the last part of its key, in the folder of its first file",
      ["q/k/1", "p/k/2"],
      { groupBy: ".*/(in/)./(k/).*" },
      ["p/k/k < p/k/2 q/k/1"],
    ],
    ["leaves out files with empty keys", ["1", "a"], { groupBy: ".*/in/(\\d*).*" }, ["1 < 1"]],
    [
      "replaces the extension of a codec",
      ["a.lzo", "b.gz", "c", "d.txt", "e.snappy"],
      { outputCodec: "gzip" },
      ["a.gz < a.lzo (gzip)", "b.gz < b.gz", "c.gz < c (gzip)", "d.txt.gz < d.txt (gzip)", "e.gz < e.snappy (gzip)"],
    ],
    [
      "removes the extension when it decodes",
      ["a.lzo", "b.gz", "c", "d/.gz"],
      { outputCodec: "none" },
      ["a < a.lzo (decoded)", "b < b.gz (decoded)", "c < c", "d/.gz < d/.gz"],
    ],
    [
      "decodes what cannot be encoded",
      ["a.zst", "b.deflate"],
      { outputCodec: "none" },
      ["a < a.zst (decoded)", "b < b.deflate (decoded)"],
    ],
    [
      "replaces the extension of a codec that is only decoded",
      ["a.csv.zst", "b.gz.gz"],
      { outputCodec: "gzip" },
      ["a.csv.gz < a.csv.zst (gzip)", "b.gz.gz < b.gz.gz"],
    ],
    [
      "copies compressed files that cannot be decoded as they are",
      ["a.bz2", "b1.xz", "b2.xz"],
      { groupBy: ".*/in/(.).*" },
      ["a < a.bz2", "b < b1.xz b2.xz"],
    ],
    [
      "recodes groups unless all members have the codec",
      ["a1.gz", "a2.gz", "b1.gz", "b2"],
      { groupBy: ".*/in/(.).*", outputCodec: "gzip" },
      ["a.gz < a1.gz a2.gz", "b.gz < b1.gz b2 (gzip)"],
    ],
    [
      "recodes groups of several lzop files",
      ["a1.lzo", "a2.lzo", "b1.lzo"],
      { groupBy: ".*/in/(.).*", outputCodec: "lzo" },
      ["a.lzo < a1.lzo a2.lzo (lzo)", "b.lzo < b1.lzo"],
    ],
    ["numbers files in path order", ["b/x", "a", "b/B"], { startingIndex: 7 }, ["7a < a", "b/8B < b/B", "b/9x < b/x"]],
    [
      "numbers groups in the order of their names",
      ["p/1-a", "p/2-a"],
      { groupBy: ".*(\\d-)(?:.).*", startingIndex: 0 },
      ["p/01- < p/1-a", "p/12- < p/2-a"],
    ],
    [
      "numbers groups",
      ["a1", "b1", "a2"],
      { groupBy: ".*/in/(.).*", startingIndex: 0, outputCodec: "snappy" },
      ["0a.snappy < a1 a2 (snappy)", "1b.snappy < b1 (snappy)"],
    ],
    [
      "allows a single Parquet file in a group",
      ["a.parquet", "b.orc"],
      { groupBy: ".*/in/(.*)" },
      ["a.parquet < a.parquet", "b.orc < b.orc"],
    ],
  ])("%s", async (_what, names, options, expected) => {
    expect(
      await outputsOf(
        planOf([file("folder/", 0), file("old_$folder$", 0), ...names.map((name) => file(name))], options),
      ),
    ).toEqual(expected);
  });

  test("starts a new part once the target size is reached, and never splits an input", async () => {
    const sizes = [0.5, 0.4, 0.2, 3, 0.1, 0.8, 0.1];
    const sources = sizes.map((size, at) => file(`k${at}.gz`, size * bytesPerMiB));
    const options = { groupBy: ".*/in/(k).(.gz)", targetSizeMiB: 1 };
    expect(await outputsOf(planOf(sources, options))).toEqual([
      "k0.gz < k0.gz k1.gz k2.gz",
      "k1.gz < k3.gz",
      "k2.gz < k4.gz k5.gz k6.gz",
    ]);
    expect(await outputsOf(planOf(sources.slice(0, 3), options))).toEqual(["k.gz < k0.gz k1.gz k2.gz"]);
  });

  test.each<[string, string[], Partial<PlanOptions>, string, Partial<PlanContext>?]>([
    [
      "two inputs that become one output",
      ["a.gz", "a"],
      { outputCodec: "none" },
      "s3://b/in/a.gz and s3://b/in/a would both become a.",
    ],
    [
      "two groups that become one output",
      ["k1.gz", "k2"],
      { groupBy: ".*/in/(k).(.gz)?", outputCodec: "none" },
      "s3://b/in/k2 and s3://b/in/k1.gz would both become k.",
    ],
    [
      "mixed codecs in a group",
      ["a1.gz", "a2"],
      { groupBy: ".*/in/(.).*" },
      "s3://b/in/a1.gz and s3://b/in/a2 are in one group but compressed differently",
    ],
    ["mixed codecs that are not decoded", ["a1.gz", "a2.bz2"], { groupBy: ".*/in/(.).*" }, "compressed differently"],
    [
      "a file that would have to be decoded and cannot be",
      ["a.txt", "b.bz2"],
      { outputCodec: "none" },
      "s3://b/in/b.bz2: .bz2 files cannot be decoded; those that can: .gz, .lzo, .snappy, .deflate, .zst.",
    ],
    [
      "a file of a group that would have to be decoded and cannot be",
      ["a.bz2", "a.txt"],
      { groupBy: ".*/in/(.).*", outputCodec: "none" },
      "s3://b/in/a.bz2: .bz2 files cannot be decoded",
    ],
    [
      "Parquet in a group",
      ["a1.parquet", "a2.parquet"],
      { groupBy: ".*/in/(.).*" },
      "s3://b/in/a1.parquet cannot be concatenated",
    ],
    [
      "ORC in a group, compressed",
      ["a1", "a2.orc.gz"],
      { groupBy: ".*/in/(.).*", outputCodec: "none" },
      "s3://b/in/a2.orc.gz cannot be concatenated",
    ],
    [
      "numbers that make names equal",
      ["0", "1a", "2", "3", "4", "5", "6", "7", "8", "9", "9x", "a"],
      { startingIndex: 0 },
      "s3://b/in/1a and s3://b/in/a would both become 11a.",
    ],
    [
      "an empty part of a path",
      ["a//b"],
      {},
      "s3://b/in/a//b cannot be copied to a folder: its path has an empty part",
      { destinationScheme: "file" },
    ],
    ["a path that leaves the folder", ["../b"], {}, "has a part . or ..", { destinationScheme: "file" }],
    [
      "a colon on HDFS",
      ["a:b"],
      {},
      "s3://b/in/a:b cannot be copied to HDFS: its path contains a colon",
      { destinationScheme: "hdfs" },
    ],
    ["a long name", ["é".repeat(128)], {}, "has a part of more than 255 bytes", { destinationScheme: "hdfs" }],
    [
      "a file that would be a folder",
      ["a/b", "a-", "a", "a!"],
      { outputCodec: "none" },
      "s3://b/in/a and s3://b/in/a/b cannot both be copied: a would be a file and a folder.",
      { destinationScheme: "file" },
    ],
  ])("refuses %s", async (_what, names, options, message, context) => {
    const plan = planOf(
      names.map((name) => file(name)),
      options,
      context,
    );
    await expect(outputsOf(plan)).rejects.toThrow(message);
  });

  test("counts a file that is listed twice once", async () => {
    const sources = ["a1", "a2", "a1", "b1", "b1", "a2"].map((name, at) => ({ ...file(name), modifiedMs: at }));
    const overlapping = { srcPrefixesFile: "s3://b/list" };
    const groups = { ...overlapping, groupBy: ".*/in/(.).*" };
    expect(await outputsOf(planOf(sources, overlapping))).toEqual(["a1 < a1", "a2 < a2", "b1 < b1"]);
    expect(await outputsOf(planOf(sources, groups))).toEqual(["a < a1 a2", "b < b1"]);
    expect(await outputsOf(planOf(sources, { ...overlapping, startingIndex: 0 }))).toEqual([
      "0a1 < a1",
      "1a2 < a2",
      "2b1 < b1",
    ]);
  });

  test("refuses two files of one name from different folders", async () => {
    const sources = [file("a", 1, "s3://x/"), file("a", 1, "s3://y/")];
    await expect(outputsOf(planOf(sources, { copyFromManifest: true }))).rejects.toThrow(
      "s3://x/a and s3://y/a would both",
    );
  });

  test("counts the files that match", async () => {
    const plan = planOf([file("a.gz", 4), file("b.gz", 5), file("c", 6), file("d/", 0)], { srcPattern: ".*gz" });
    await outputsOf(plan);
    expect(plan.summary).toMatchObject({ listedFiles: 3, matchedFiles: 2, skippedFiles: 0 });
  });

  test("fails before anything is listed if a pattern is wrong", () => {
    expect(() => planOf([], { srcPattern: "(?=a)" })).toThrow("lookahead");
    expect(() => planOf([], { groupBy: ".*" })).toThrow("--groupBy must contain a group");
  });

  test.each([{}, { outputCodec: "none" as const }])(
    "never has an output of the manifest's name: %j",
    async (options) => {
      const plan = planOf([file("a"), file("m.gz")], options, { manifestName: options.outputCodec ? "m" : "m.gz" });
      await expect(outputsOf(plan)).rejects.toThrow(
        "the manifest would replace this file; name another --outputManifest",
      );
    },
  );

  test("ends with the reason of its signal", async () => {
    const signal = AbortSignal.abort(new Error("cancelled"));
    await expect(outputsOf(planOf([file("a")], { outputCodec: "none" }, { signal }))).rejects.toThrow("cancelled");
  });

  test("leaves no file behind", async () => {
    const plan = planOf([file("b"), file("a")], { startingIndex: 0 });
    await plan[Symbol.asyncIterator]().next();
    expect(readdirSync(plans.scratchFolder)).toEqual([]);
    plan.close();
  });
});

function entry(baseName: string, size: number): ManifestEntry {
  return { path: `s3://out/x/${baseName}`, baseName, srcDir: "s3://out/x", size };
}

describe("a previous manifest", () => {
  test("excludes files of the same name and size, and is carried over unless a file is copied again", async () => {
    const entries = [entry("z", 1), entry("same", 5), entry("changed", 5), entry("same", 4), entry("gone", 9)];
    const sources = [file("new", 5), file("same", 5), file("changed", 6), file("zz", 1)];
    const plan = planOf(sources, {}, { previousManifest: each(entries) });
    expect(await outputsNames(plan)).toEqual(["changed", "new", "zz"]);
    expect([...plan.carriedOver()]).toEqual([entry("gone", 9), entry("same", 5), entry("z", 1)]);
    expect(plan.summary).toMatchObject({ matchedFiles: 4, skippedFiles: 1 });
    plan.close();
  });

  test("works with groups", async () => {
    const plan = planOf(
      [file("a1"), file("a2"), file("b1")],
      { groupBy: ".*/in/(.).*" },
      { previousManifest: each([entry("a1", 1)]) },
    );
    expect(await outputsOf(plan)).toEqual(["a < a2", "b < b1"]);
  });

  test("skips and carries over the same files as a comparison in memory", async () => {
    const name = fc
      .string({ unit: fc.constantFrom("a", "b", "\uffee", "😀", "/"), minLength: 1, maxLength: 3 })
      .filter((text) => !text.endsWith("/"));
    const sized = fc.uniqueArray(fc.tuple(name, fc.nat(2)), { selector: ([text]) => text, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(sized, sized, async (listed, known) => {
        const entries = known.map(([text, size]) => entry(text, size));
        const plan = planOf(
          listed.map(([text, size]) => file(text, size)),
          {},
          { previousManifest: each(entries) },
        );
        const sizes = new Map(known);
        const copied = listed.filter(([text, size]) => sizes.get(text) !== size).map(([text]) => text);
        expect(new Set(await outputsNames(plan))).toEqual(new Set(copied));
        const carried = new Set([...plan.carriedOver()].map(({ baseName }) => baseName));
        expect(carried).toEqual(new Set(known.map(([text]) => text).filter((text) => !copied.includes(text))));
        plan.close();
      }),
    );
  });
});

async function outputsNames(plan: CopyPlan): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of plan) names.push(name);
  return names;
}

test("every source of a group plan is in exactly one output, whatever the order of the listing", async () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[ab]\/[xyz]{1,2}-[0-9]{1,3}$/), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(
      names,
      fc.infiniteStream(fc.nat(9)),
      fc.constantFrom(null, 1),
      async (listed, sizes, targetSizeMiB) => {
        const sources = listed.map((name) => file(name, (sizes.next().value ?? 0) * 200_000));
        const options = { groupBy: ".*/in/(.)/(.*)-.*", targetSizeMiB };
        const forward = await outputsOf(planOf(sources, options));
        expect(await outputsOf(planOf(sources.toReversed(), options))).toEqual(forward);
        const members = forward.flatMap((text) => text.split(" < ")[1]?.split(" ") ?? []);
        expect(members.toSorted()).toEqual(listed.toSorted());
      },
    ),
  );
});
