import { expect, test } from "vitest";
import type { Candidate } from "../store/claims.ts";
import { planClaims } from "./claim-plan.ts";

const now = new Date("2026-01-01T00:10:00Z");
const caps = { perAccount: 20, perCluster: 8 };
const plenty = { budgetMiB: 10_000, usedMiB: 0 };

let lastId = 0;
function waiting(accountId: number, more: Partial<Candidate> = {}): Candidate {
  lastId += 1;
  return {
    id: lastId,
    accountId,
    clusterId: accountId,
    appId: null,
    pool: null,
    commandType: "SparkCommand",
    command: {},
    options: null,
    resolvedMacros: null,
    dueAt: new Date(now.getTime() - 30_000 + lastId),
    accountRunning: 0,
    clusterRunning: 0,
    clusterCap: null,
    isClusterUp: true,
    ...more,
  };
}

function accountsOf(candidates: Candidate[], room = plenty, memoryMiB = 100): number[] {
  const { claims } = planClaims(candidates, caps, room, () => memoryMiB, now);
  return claims.map(({ candidate }) => candidate.accountId);
}

test("accounts take turns however many commands one of them has", () => {
  const crowd = Array.from({ length: 6 }, () => waiting(1));
  expect(accountsOf([...crowd, waiting(2), waiting(2)]).slice(0, 4)).toEqual([1, 2, 1, 2]);
});

test("who runs less comes first, whoever waits longer", () => {
  expect(accountsOf([waiting(1, { accountRunning: 3 }), waiting(2)])).toEqual([2, 1]);
});

test("neither the account's cap nor the cluster's is exceeded by one plan", () => {
  const nearCap = Array.from({ length: 5 }, () => waiting(1, { accountRunning: 18 }));
  expect(accountsOf(nearCap)).toHaveLength(2);
  const ownCap = Array.from({ length: 5 }, () => waiting(2, { clusterCap: 3, clusterRunning: 1 }));
  expect(accountsOf(ownCap)).toHaveLength(2);
});

test("a cluster's commands keep their order", () => {
  const queue = Array.from({ length: 4 }, () => waiting(1));
  const { claims } = planClaims(queue, caps, plenty, () => 1, now);
  expect(claims.map(({ candidate }) => candidate.id)).toEqual(queue.map(({ id }) => id));
});

const refresh = { commandType: "HiveCommand", options: { engine: "native" } };
const query = (appId: number | null) => ({ commandType: "SparkCommand", command: { language: "sql" }, appId });

test("commands of different kinds are taken in the order they are due", () => {
  const queue = [waiting(1), waiting(1, refresh), waiting(1, query(null)), waiting(1), waiting(1, query(7))];
  const { claims } = planClaims(queue, caps, plenty, () => 1, now);
  expect(claims.map(({ candidate }) => candidate.id)).toEqual(queue.map(({ id }) => id));
});

test("a command that waits for memory holds up only its own kind on its cluster, and queries only those of their app", () => {
  const large = waiting(1);
  const queue = [large, waiting(1), waiting(1, refresh), waiting(1, query(null)), waiting(1, query(7))];
  const isLarge = ({ id, appId }: Candidate): boolean => id === large.id || appId === 7;
  const memoryOf = (each: Candidate): number => (isLarge(each) ? 900 : 50);
  const plan = planClaims(queue, caps, { budgetMiB: 1000, usedMiB: 200 }, memoryOf, now);
  expect(plan.claims.map(({ candidate }) => candidate.id)).toEqual([queue[2]?.id, queue[3]?.id]);
  expect(plan.shortOfMemory).toEqual([large.id, queue[4]?.id]);
});

test("what needs no memory runs on a node whose memory is taken, and more than that", () => {
  expect(accountsOf([waiting(1)], { budgetMiB: 1000, usedMiB: 1200 }, 0)).toEqual([1]);
  expect(accountsOf([waiting(1)], { budgetMiB: 1000, usedMiB: 1200 }, 1)).toEqual([]);
});

test("memory that is short keeps a command waiting and others running", () => {
  const large = waiting(1);
  const small = waiting(2);
  const memoryOf = ({ id }: Candidate): number => (id === large.id ? 900 : 50);
  const plan = planClaims([large, small], caps, { budgetMiB: 1000, usedMiB: 200 }, memoryOf, now);
  expect(plan.claims.map(({ candidate }) => candidate.id)).toEqual([small.id]);
  expect(plan.shortOfMemory).toEqual([large.id]);
});

test("a command that has waited long is not passed by smaller ones", () => {
  const large = waiting(1, { dueAt: new Date(now.getTime() - 120_000) });
  const plan = planClaims(
    [large, waiting(2)],
    caps,
    { budgetMiB: 1000, usedMiB: 200 },
    ({ id }) => (id === large.id ? 900 : 50),
    now,
  );
  expect(plan.claims).toEqual([]);
});

test("only commands that need no memory overtake a command that has waited long", () => {
  const large = waiting(1, { dueAt: new Date(now.getTime() - 120_000) });
  const free = [waiting(1, query(null)), waiting(2, query(null))];
  const plan = planClaims(
    [large, ...free, waiting(2)],
    caps,
    { budgetMiB: 1000, usedMiB: 200 },
    (each) => (each.id === large.id ? 900 : free.includes(each) ? 0 : 50),
    now,
  );
  expect(plan.claims.map(({ candidate }) => candidate.id)).toEqual(free.map(({ id }) => id));
  expect(plan.shortOfMemory).toEqual([large.id]);
});

test("what is larger than the node runs alone", () => {
  const plan = planClaims([waiting(1)], caps, { budgetMiB: 1000, usedMiB: 0 }, () => 64_000, now);
  expect(plan.claims).toMatchObject([{ memoryMiB: 1000 }]);
});

test("what commands of one place share is needed once", () => {
  const queries = [waiting(1), waiting(1), waiting(1), waiting(2)];
  const need = ({ clusterId }: Candidate) => ({ memoryMiB: 600, sharedBy: `cluster ${clusterId}` });
  const { claims, shortOfMemory } = planClaims(queries, caps, { budgetMiB: 1000, usedMiB: 0 }, need, now);
  expect(claims.map(({ candidate, memoryMiB }) => [candidate.accountId, memoryMiB])).toEqual([
    [1, 600],
    [1, 0],
    [1, 0],
  ]);
  expect(shortOfMemory).toEqual([queries[3]?.id]);
});
