import { describe, expect, test } from "vitest";
import type { CutOffAnswer } from "./cut-off-answers.ts";
import { flawsOf } from "./flaws.ts";
import { CLEAN } from "./judge.ts";

function cutOffAnswer(status: number | null, seconds: number): CutOffAnswer {
  return { request: "GET account", connections: "open", status, seconds };
}

describe("a chaos run", () => {
  const seen = { runner: 1, driver: 1, "waiting driver": 1, server: 2, PostgreSQL: 1, "Spark server": 1, copy: 1 };
  const good = {
    verdict: CLEAN,
    left: [],
    cutOffAnswers: [cutOffAnswer(503, 7)],
    calmShares: [24, 20, 16],
    isOverloaded: false,
    faults: { "kill a driver": 1, "kill a waiting driver": 1 },
    ends: { "program done": 8, "query done": 2, "refresh done": 2, "copy done": 1 },
    doneShare: 0.9,
    manners: { cold: 5, standby: 3 },
    retriedKills: 1,
    folderChanges: 7,
    seen,
  };

  test("has no flaws when every fault and kind of command was in it and most commands are done", () => {
    expect(flawsOf(good)).toEqual([]);
  });

  test.each([
    ["a process is left over", { left: ["7: bwrap"] }],
    ["a node without its database answers late", { cutOffAnswers: [cutOffAnswer(503, 9)] }],
    ["a node without its database does not answer", { cutOffAnswers: [cutOffAnswer(null, 1)] }],
    ["a node without its database answers as if it had one", { cutOffAnswers: [cutOffAnswer(200, 1)] }],
    [
      "a node was cut off and not asked",
      { faults: { ...good.faults, "cut the second node off": 1 }, cutOffAnswers: [] },
    ],
    ["equal nodes ran unequal numbers of commands", { calmShares: [28, 17, 15] }],
    ["a fault never struck", { faults: { ...good.faults, "kill a runner": 0 } }],
    ["few commands are done", { doneShare: 0.3 }],
    ["no query is done", { ends: { "program done": 8, "refresh done": 2, "copy done": 1 } }],
    ["no copy is done", { ends: { "program done": 8, "query done": 2, "refresh done": 2 } }],
    ["no standby driver was used", { manners: { cold: 8 } }],
    ["no folder was changed while faults struck", { folderChanges: 0 }],
    ["no killed attempt was retried", { retriedKills: 0 }],
    ["the search for processes never found a driver", { seen: { ...seen, driver: 0 } }],
    ["the judge found something", { verdict: { ...CLEAN, lost: ["7"] } }],
  ])("has a flaw when %s", (_, change) => {
    expect(flawsOf({ ...good, ...change })).toHaveLength(1);
  });
});
