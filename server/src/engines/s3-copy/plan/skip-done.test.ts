import { describe, expect, test } from "vitest";
import { each, sourceFile as file, useCopyPlans } from "../../../../test/support/copy-plans.ts";
import { MembersDigest } from "./members-digest.ts";
import type { PlannedOutput, SourceFile } from "./planned-output.ts";
import { RecordSorter } from "../sorted-file/record-sorter.ts";
import type { EarlierOutput } from "./skip-done.ts";

const plans = useCopyPlans();

type Sizes = Readonly<Record<string, number>>;

/** The destination has exactly what the earlier attempts wrote. */
function sizesOf(earlier: readonly EarlierOutput[]): Sizes {
  return Object.fromEntries(earlier.flatMap((event) => (event.state === "done" ? [[event.name, event.size]] : [])));
}

async function replanned(
  sources: readonly SourceFile[],
  earlier: readonly EarlierOutput[],
  { groupBy = null, found = sizesOf(earlier) }: { groupBy?: string | null; found?: Sizes } = {},
) {
  const atDestination = new RecordSorter(plans.scratchFolder);
  for (const [name, size] of Object.entries(found)) atDestination.add(name, String(size));
  const work = { outputs: each(earlier), found: await atDestination.finish() };
  const plan = plans.plan(sources, { groupBy }, { destinationScheme: "file", earlier: work });
  const outputs: PlannedOutput[] = await Array.fromAsync(plan);
  const superseded = [...plan.superseded()];
  plan.close();
  return { outputs, names: outputs.map(({ name }) => name), superseded, summary: plan.summary };
}

function done(name: string, ...sources: readonly SourceFile[]): EarlierOutput {
  const digest = new MembersDigest();
  for (const source of sources) digest.add(source);
  return { name, state: "done", digest: digest.finish(), size: sources.reduce((sum, { size }) => sum + size, 0) };
}

describe("a plan that continues earlier attempts", () => {
  test("leaves out the outputs that are done with the same versions of their sources", async () => {
    const sources = ["e", "d", "c", "b", "a"].map((name) => file(name));
    const { names, summary } = await replanned(sources, [
      done("c", file("c")),
      done("a", file("a")),
      done("b", file("b", { modifiedMs: 7 })),
      done("e", file("e", { etag: "other" })),
    ]);
    expect(names).toEqual(["b", "d", "e"]);
    expect(summary).toMatchObject({ doneOutputs: 2, doneFiles: 2, doneBytes: 2 });
  });

  test("plans an output again that is not at the destination any more, or has another size there", async () => {
    const sources = ["a", "b", "c", "d"].map((name) => file(name));
    const earlier = sources.map((source) => done(source.name, source));
    const { names, summary } = await replanned(sources, earlier, { found: { "0": 1, a: 1, b: 2, c: 1, e: 1 } });
    expect(names).toEqual(["b", "d"]);
    expect(summary).toMatchObject({ doneOutputs: 2 });
  });

  test("plans a group again that was done with other members, even if they have the same size", async () => {
    const [a, b, c] = [file("x-a"), file("x-b"), file("x-c")];
    const earlier = [done("x", b, c)];
    expect((await replanned([c, b], earlier, { groupBy: ".*/(x)-.*" })).names).toEqual([]);
    expect((await replanned([a, b], earlier, { groupBy: ".*/(x)-.*" })).names).toEqual(["x"]);
  });

  test("trusts only the last attempt at an output", async () => {
    const begun: EarlierOutput = { name: "a", state: "begun" };
    const [one, other] = [done("a", file("a")), done("a", file("a", { size: 2 }))];
    expect((await replanned([file("a")], [begun, one, begun, other])).names).toEqual(["a"]);
    expect((await replanned([file("a")], [begun, one, begun])).names).toEqual(["a"]);
    expect((await replanned([file("a")], [begun, other, begun, one])).names).toEqual([]);
  });

  test("lists the outputs of earlier attempts that are no longer planned", async () => {
    const { superseded } = await replanned(
      [file("b"), file("c")],
      [
        { name: "z", state: "begun" },
        { name: "b", state: "begun" },
        done("a", file("a")),
        { name: "0", state: "begun" },
        { name: "gone", state: "begun" },
        { name: "gone", state: "void" },
      ],
    );
    expect(superseded).toEqual(["0", "a", "z"]);
  });

  test("remembers a file as it was before the first attempt that appended to it", async () => {
    const original = { size: 5, modifiedMs: 1 };
    const { outputs } = await replanned(
      [file("a"), file("b")],
      [
        { name: "b", state: "begun" },
        { name: "b", state: "original", original },
        { name: "b", state: "begun" },
        { name: "b", state: "original", original: { size: 9, modifiedMs: 2 } },
      ],
    );
    expect(outputs.map((output) => output.original)).toEqual([undefined, original]);
  });
});
