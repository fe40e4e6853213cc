import { describe, expect, test } from "vitest";
import { each, sourceFile as file, useCopyPlans } from "../../../../test/support/copy-plans.ts";
import { MembersDigest } from "./members-digest.ts";
import type { PlannedOutput, SourceFile } from "./planned-output.ts";
import type { EarlierOutput } from "./skip-done.ts";

const plans = useCopyPlans();

async function replanned(sources: readonly SourceFile[], earlier: readonly EarlierOutput[], groupBy?: string) {
  const context = { destinationScheme: "file", earlier: each(earlier) } as const;
  const plan = plans.plan(sources, { groupBy: groupBy ?? null }, context);
  const outputs: PlannedOutput[] = await Array.fromAsync(plan);
  const superseded = [...plan.superseded()];
  plan.close();
  return { outputs, names: outputs.map(({ name }) => name), superseded, summary: plan.summary };
}

function done(name: string, ...sources: readonly SourceFile[]): EarlierOutput {
  const digest = new MembersDigest();
  for (const source of sources) digest.add(source);
  return { name, state: "done", digest: digest.finish() };
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

  test("plans a group again that was done with other members, even if they have the same size", async () => {
    const [a, b, c] = [file("x-a"), file("x-b"), file("x-c")];
    const earlier = [done("x", b, c)];
    expect((await replanned([c, b], earlier, ".*/(x)-.*")).names).toEqual([]);
    expect((await replanned([a, b], earlier, ".*/(x)-.*")).names).toEqual(["x"]);
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
