import { expect, test } from "vitest";
import type { Candidate } from "../store/claims.ts";
import type { PlannedClaim } from "./claim-plan.ts";
import type { WatchedNode } from "./heartbeats.ts";
import { LoadSharing, spreadClaims, type NodeLoad } from "./load-sharing.ts";

function load(id: string, commands = 0, more: Partial<NodeLoad> = {}): NodeLoad {
  return { id, budgetMiB: 1000, usedMiB: commands * 100, ofCluster: new Map([[1, commands]]), ...more };
}

function claims(count: number, more: Partial<PlannedClaim> = {}, clusterId = 1): PlannedClaim[] {
  return Array.from({ length: count }, (_, index) => ({
    candidate: { id: index + 1, clusterId } as Candidate, // all that is read
    memoryMiB: 100,
    isShared: false,
    ...more,
  }));
}

/** The node of each command. */
function spread(planned: PlannedClaim[], own: NodeLoad, ...others: NodeLoad[]): string[] {
  const left = spreadClaims(planned, own, others, () => 8);
  return planned.map(({ candidate }) => left.get(candidate.id) ?? own.id);
}

test("with idle nodes, a command stays on the node that looks first", () => {
  expect(spread(claims(1), load("a"), load("b"), load("c"))).toEqual(["a"]);
});

test("many commands are spread evenly over equal nodes", () => {
  expect(spread(claims(6), load("a"), load("b"), load("c")).toSorted()).toEqual(["a", "a", "b", "b", "c", "c"]);
});

test("a node with more commands of the cluster leaves the next ones to the others", () => {
  expect(spread(claims(3), load("a", 2), load("b", 0), load("c", 1))).toEqual(["b", "b", "c"]);
});

test("nodes get commands in proportion to their budgets", () => {
  const all = spread(claims(5), load("a"), load("b", 0, { budgetMiB: 4000 }));
  expect(all.filter((id) => id === "b")).toHaveLength(4);
});

test("nothing is left to a node without the memory for it", () => {
  expect(spread(claims(1), load("a", 1), load("b", 0, { usedMiB: 950 }))).toEqual(["a"]);
});

test("a query stays with its warm server until the node runs half of what the cluster may", () => {
  const queries = claims(6, { memoryMiB: 0, isShared: true });
  expect(spread(queries, load("a"), load("b"))).toEqual(["a", "a", "a", "a", "b", "b"]);
});

test("a command that another node does not take is taken after a second, and that node is passed over", async () => {
  let now = 0;
  const wokenAt: number[] = [];
  const sharing = new LoadSharing({
    db: { query: () => Promise.resolve([]) }, // nothing runs
    node: { id: "own", memoryBudgetMiB: 1000 },
    caps: { perAccount: 20, perCluster: 8 },
    now: () => now,
    wakeNodes: () => wokenAt.push(now),
  });
  const larger = { id: "larger", memoryBudgetMiB: 8000, state: "active", isSilent: false } as WatchedNode; // all that is read
  const chosenAt = async (time: number, id: number): Promise<number> => {
    now = time;
    const candidate = { id, clusterId: 1, onlyNodeId: null } as Candidate; // all that is read
    return (await sharing.choose([{ candidate, memoryMiB: 100, isShared: false }], [larger])).length;
  };
  expect([await chosenAt(0, 1), await chosenAt(500, 1), await chosenAt(1000, 1)]).toEqual([0, 0, 1]);
  expect([await chosenAt(10_900, 2), await chosenAt(11_100, 3)]).toEqual([1, 0]);
  expect(wokenAt).toEqual([0, 11_100]);
});
