import { describe, expect, test } from "vitest";
import type { Candidate } from "../store/claims.ts";
import { laneOf, planClaims, type PlanInput, type PlannedClaim } from "./claim-plan.ts";
import type { NodeRoom } from "./memory-rules.ts";

const now = new Date("2026-01-01T00:10:00Z");
const caps = { perAccount: 20, perCluster: 8 };
const plenty = room(10_000);

/** Without a share, unless it is given. */
function room(budgetMiB: number, more: Partial<NodeRoom> = {}): NodeRoom {
  const nothing = { usedMiB: 0, usedBy: new Map(), serversBy: new Map(), opening: new Set<string>() };
  return { budgetMiB, shareMiB: Infinity, ...nothing, ...more };
}

interface Asked {
  room?: NodeRoom;
  memoryOf?: PlanInput["memoryOf"];
  /** For how many seconds the command has waited for memory, by its id. */
  waited?: Readonly<Record<number, number>>;
}

function plan(candidates: readonly Candidate[], { room = plenty, memoryOf = () => 100, waited = {} }: Asked = {}) {
  const waitedMs = ({ id }: Candidate): number => (waited[id] ?? 0) * 1000;
  return planClaims({ candidates, caps, room, memoryOf, waitedMs });
}

const idsOf = ({ claims }: { claims: readonly PlannedClaim[] }): number[] =>
  claims.map(({ candidate }) => candidate.id);

let lastId = 0;
function waiting(accountId: number, more: Partial<Candidate> = {}): Candidate {
  lastId += 1;
  return {
    id: lastId,
    accountId,
    clusterId: accountId,
    appId: null,
    pool: null,
    lane: "program",
    kind: "program",
    commandType: "SparkCommand",
    command: {},
    options: null,
    resolvedMacros: null,
    dueAt: new Date(now.getTime() - 30_000 + lastId),
    accountRunning: 0,
    clusterRunning: 0,
    clusterCap: null,
    isClusterUp: true,
    onlyNodeId: null,
    ...more,
  };
}

function accountsOf(candidates: Candidate[], room = plenty, memoryMiB = 100): number[] {
  const { claims } = plan(candidates, { room, memoryOf: () => memoryMiB });
  return claims.map(({ candidate }) => candidate.accountId);
}

test("accounts take turns however many commands one of them has", () => {
  const crowd = Array.from({ length: 6 }, () => waiting(1));
  expect(accountsOf([...crowd, waiting(2), waiting(2)]).slice(0, 4)).toEqual([1, 2, 1, 2]);
});

test("the account that runs less comes first, however long others wait", () => {
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
  expect(idsOf(plan(queue))).toEqual(queue.map(({ id }) => id));
});

const refresh = { kind: "refresh", lane: "refresh" };
const query = (appId: number | null) => ({ kind: "sql", appId, lane: `sql of app ${appId}` });

test("commands of different kinds are taken in the order they are due", () => {
  const queue = [waiting(1), waiting(1, refresh), waiting(1, query(null)), waiting(1), waiting(1, query(7))];
  expect(idsOf(plan(queue))).toEqual(queue.map(({ id }) => id));
});

test("a command that waits for memory holds up only its own kind on its cluster, and queries only those of their app", () => {
  const large = waiting(1);
  const queue = [large, waiting(1), waiting(1, refresh), waiting(1, query(null)), waiting(1, query(7))];
  const isLarge = ({ id, appId }: Candidate): boolean => id === large.id || appId === 7;
  const memoryOf = (each: Candidate): number => (isLarge(each) ? 900 : 50);
  const planned = plan(queue, { room: room(1000, { usedMiB: 200 }), memoryOf });
  expect(idsOf(planned)).toEqual([queue[2]?.id, queue[3]?.id]);
  expect([...planned.shortages.keys()]).toEqual([large.id, queue[4]?.id]);
});

test("a command without memory runs even on a node whose memory is overcommitted", () => {
  const taken = room(1000, { usedMiB: 1200 });
  expect(accountsOf([waiting(1)], taken, 0)).toEqual([1]);
  expect(accountsOf([waiting(1)], taken, 1)).toEqual([]);
});

describe("a command that waits for memory", () => {
  const [large, own, other] = [waiting(1), waiting(1, query(9)), waiting(2)];
  const memoryOf = ({ id }: Candidate): number => (id === large.id ? 900 : 50);
  const full = room(1000, { usedMiB: 200 });
  /** Half of the node is the share. What the accounts 1, 2, … use; an account that uses 0 runs nothing. */
  const roomOf = (...used: number[]): NodeRoom => {
    const usedBy = new Map(used.flatMap((each, index) => (each === 0 ? [] : [[index + 1, each] as const])));
    return room(1000, { shareMiB: 500, usedMiB: used.reduce((sum, each) => sum + each, 0), usedBy });
  };

  test("lets smaller ones pass at first", () => {
    const planned = plan([large, own, other], { room: full, memoryOf });
    expect(new Set(idsOf(planned))).toEqual(new Set([own.id, other.id]));
    expect(planned).toMatchObject({ shortages: new Map([[large.id, "memory"]]), missingMiB: 100 });
  });

  test("lets only commands of other accounts pass after a minute, as long as they leave it what it needs", () => {
    const needs = (each: Candidate): number => (each.id === large.id ? 300 : memoryOf(each));
    const waited = { [large.id]: 61 };
    // Account 1 uses 200 and needs 300 more.
    const beside = (...others: number[]): NodeRoom => roomOf(200, ...others);
    const passing = plan([large, own, other], { room: beside(450, 55), memoryOf: needs, waited });
    expect(idsOf(passing)).toEqual([]);
    expect(passing.shortages).toEqual(new Map([[large.id, "memory"], [own.id, "next"], [other.id, "next"]])); // oxfmt-ignore
    const starting = plan([large, own, other], { room: beside(450), memoryOf: needs, waited });
    expect(idsOf(starting)).toEqual([large.id, other.id]);
    const waiting = plan([large, own, other], { room: beside(250, 255), memoryOf: needs });
    expect(new Set(idsOf(waiting))).toEqual(new Set([own.id, other.id]));
  });

  test("is next even if commands of accounts that run fewer are examined before it", () => {
    const running = waiting(1, { accountRunning: 3 });
    const needs = ({ id }: Candidate): number => (id === running.id ? 400 : 300);
    const busy = roomOf(100, 300, 300);
    const planned = plan([running, waiting(4)], { room: busy, memoryOf: needs, waited: { [running.id]: 61 } });
    expect(planned.claims).toEqual([]);
    expect([...planned.shortages.values()]).toEqual(["next", "memory"]);
  });

  test("holds up its own account, and others only if it fits into the share beside what its account runs", () => {
    const needs = ({ id }: Candidate): number => (id === large.id ? 200 : 50);
    const planned = plan([large, own, other], { room: roomOf(400, 100), memoryOf: needs, waited: { [large.id]: 61 } });
    expect(idsOf(planned)).toEqual([other.id]);
    expect(planned.shortages).toEqual(new Map([[large.id, "share"], [own.id, "next"]])); // oxfmt-ignore
  });

  test("always lets commands of its account pass that need no memory", () => {
    const free = waiting(1, query(null));
    const needs = (each: Candidate): number => (each.id === free.id ? 0 : memoryOf(each));
    const planned = plan([large, free], { room: full, memoryOf: needs, waited: { [large.id]: 61 } });
    expect(idsOf(planned)).toEqual([free.id]);
  });

  test("gets its share after a minute, and the others keep the rest of the node", () => {
    const crowd = [waiting(2), waiting(3), waiting(4)];
    const needs = ({ id }: Candidate): number => (id === large.id ? 500 : 100);
    const busy = room(1000, { shareMiB: 500, usedMiB: 600, usedBy: new Map([2, 3].map((id) => [id, 300])) });
    const waited = { [large.id]: 61 };
    expect(idsOf(plan([large, ...crowd], { room: busy, memoryOf: needs, waited }))).toEqual([]);
    const less = { ...busy, usedMiB: 400, usedBy: new Map([2, 3].map((id) => [id, 200])) };
    expect(idsOf(plan([large, ...crowd], { room: less, memoryOf: needs, waited }))).toContain(large.id);
    const half = roomOf(0, 350);
    const first = waiting(3, { accountRunning: 1 });
    const second = waiting(4, { accountRunning: 2 });
    const planned = plan([large, first, second], { room: half, memoryOf: needs, waited });
    expect(idsOf(planned)).toEqual([large.id, first.id]);
  });

  test("holds up none of its account while it has no room beside the warm servers that the account uses", () => {
    const needs = ({ id }: Candidate): number => (id === large.id ? 200 : 50);
    const startedBeside = (serverMiB: number, ...used: number[]): number[] => {
      const beside = { ...roomOf(...used), serversBy: new Map([[1, serverMiB]]) };
      return idsOf(plan([large, own], { room: beside, memoryOf: needs, waited: { [large.id]: 6000 } }));
    };
    expect(startedBeside(400, 400, 50)).toEqual([own.id]);
    expect(startedBeside(300, 400, 50)).toEqual([]); // the rest of what the account uses are programs, which end
    expect(startedBeside(400, 900)).toEqual([]); // the account is alone and may exceed its share
    expect(startedBeside(850, 900)).toEqual([own.id]);
  });

  test("holds up nothing on a node that is smaller than the share while its account leaves it no room there", () => {
    const needs = ({ id }: Candidate): number => (id === large.id ? 700 : 50);
    const waited = { [large.id]: 6000 };
    const unlimited = { ...roomOf(400, 50), shareMiB: Infinity };
    expect(idsOf(plan([large, other], { room: unlimited, memoryOf: needs, waited }))).toEqual([other.id]);
    const beside = { ...unlimited, serversBy: new Map([[1, 400]]) };
    expect(idsOf(plan([large, own], { room: beside, memoryOf: needs, waited }))).toEqual([own.id]);
  });

  test("holds up none of its account while it is larger than the share and could not start", () => {
    const neighbour = waiting(2);
    const waited = { [large.id]: 6000, [neighbour.id]: 1 };
    const started = (others: Candidate[], ...used: number[]): number[] =>
      idsOf(plan([large, own, ...others], { room: roomOf(...used), memoryOf, waited }));
    expect(started([], 300, 101)).toEqual([own.id]); // other accounts use too much for it
    expect(started([], 300, 100)).toEqual([]);
    const capped = waiting(2, { accountRunning: 20 });
    expect(started([capped], 300, 100)).toEqual([]);
    expect(started([neighbour], 300, 100)).toContain(own.id); // another account waits for its share
    expect(started([neighbour])).toContain(own.id); // also on an idle node
  });
});

describe("the share of an account", () => {
  const half = (more: Partial<NodeRoom> = {}): NodeRoom => room(1000, { shareMiB: 500, ...more });

  test("limits an account while another one waits or runs, and not when it is alone", () => {
    const crowd = Array.from({ length: 8 }, () => waiting(1));
    expect(accountsOf(crowd, half())).toHaveLength(8);
    expect(accountsOf(crowd, half({ usedMiB: 100, usedBy: new Map([[2, 100]]) }))).toHaveLength(5);
    const both = accountsOf([...crowd, waiting(2)], half());
    expect([both.filter((id) => id === 1), both.filter((id) => id === 2)].map(({ length }) => length)).toEqual([5, 1]);
  });

  test("does not count accounts that only wait for their own caps", () => {
    const crowd = Array.from({ length: 8 }, () => waiting(1));
    const capped = waiting(2, { accountRunning: 20 });
    expect(accountsOf([...crowd, capped], half())).toHaveLength(8);
  });

  test("counts an account as waiting even if a command that is larger than the node is ahead in its lane", () => {
    const crowd = Array.from({ length: 8 }, () => waiting(1));
    const huge = waiting(2);
    const memoryOf = ({ id }: Candidate): number => (id === huge.id ? 2000 : 100);
    const planned = plan([...crowd, huge, waiting(2)], { room: half(), memoryOf });
    expect(planned.claims.filter(({ candidate }) => candidate.accountId === 1)).toHaveLength(5);
  });

  test("does not count accounts whose command starts at once or waits only for what they use themselves", () => {
    const large = waiting(1);
    const [starts, waits] = [waiting(2), waiting(2)];
    const memoryOf = ({ id }: Candidate): number => ({ [large.id]: 600, [waits.id]: 500 })[id] ?? 50;
    const used = half({ usedMiB: 50, usedBy: new Map([[2, 50]]) });
    const waited = { [large.id]: 3600, [waits.id]: 3600 };
    expect(idsOf(plan([large, starts], { room: used, memoryOf, waited }))).toEqual([large.id, starts.id]);
    expect(idsOf(plan([large, waits], { room: used, memoryOf, waited }))).toEqual([large.id]);
  });

  test("is the waiting reason of the commands that it holds back", () => {
    const crowd = Array.from({ length: 6 }, () => waiting(1));
    const { shortages } = plan([...crowd, waiting(2)], { room: half() });
    expect(shortages).toEqual(new Map([[crowd[5]?.id, "share"]]));
  });

  const beside = half({ usedMiB: 100, usedBy: new Map([[2, 100]]) });
  test.each([
    ["starts when no other account runs or waits", half(), [], 0, true],
    ["waits while another account runs", beside, [], 0, false],
    ["starts after a minute when others only run", beside, [], 61, true],
    ["does not start before one that waits, even after a minute", beside, [waiting(2)], 61, false],
    ["does not count accounts that wait for their caps", beside, [waiting(3, { accountRunning: 20 })], 61, true],
    [
      "does not fit beside others that leave too little",
      half({ usedMiB: 101, usedBy: new Map([[2, 101]]) }),
      [],
      61,
      false,
    ],
    [
      "does not start beside commands of its own",
      half({
        usedMiB: 60,
        usedBy: new Map([
          [1, 50],
          [2, 10],
        ]),
      }),
      [],
      61,
      false,
    ],
  ])("a command larger than the share %s", (_what, space, others, seconds, starts) => {
    const large = waiting(1);
    const memoryOf = ({ id }: Candidate): number => (id === large.id ? 900 : 100);
    const waited = { ...Object.fromEntries(others.map(({ id }) => [id, 1])), [large.id]: seconds };
    const planned = plan([large, ...others], { room: space, memoryOf, waited });
    expect(idsOf(planned).includes(large.id)).toBe(starts);
  });

  test("leaves no node idle: if all commands are larger, the first one starts", () => {
    const queue = [waiting(1), waiting(2)];
    expect(accountsOf(queue, half(), 600)).toEqual([1]);
    expect(accountsOf(queue, half({ usedMiB: 600, usedBy: new Map([[1, 600]]) }), 600)).toEqual([]);
  });
});

test("a command that is larger than the node is left to a larger node and delays no other", () => {
  const [huge, next] = [waiting(1), waiting(1)];
  const memoryOf = ({ id }: Candidate): number => (id === huge.id ? 64_000 : 100);
  const planned = plan([huge, next], { room: room(1000), memoryOf, waited: { [huge.id]: 6000 } });
  expect(idsOf(planned)).toEqual([next.id]);
  expect(planned.shortages).toEqual(new Map([[huge.id, "node"]]));
});

test("memory that commands of one scope share is counted once", () => {
  const queries = [waiting(1), waiting(1), waiting(1), waiting(2)];
  const need = ({ clusterId }: Candidate) => ({ memoryMiB: 600, sharedBy: `cluster ${clusterId}` });
  const { claims, shortages } = plan(queries, { room: room(1000), memoryOf: need });
  expect(claims.map(({ candidate, memoryMiB }) => [candidate.accountId, memoryMiB])).toEqual([
    [1, 600],
    [1, 0],
    [1, 0],
  ]);
  expect([...shortages.keys()]).toEqual([queries[3]?.id]);
});

test("memory of a scope is not needed again while the first command of the scope still starts its server", () => {
  const need = () => ({ memoryMiB: 600, sharedBy: "a server" });
  const starting = room(1000, { usedMiB: 600, usedBy: new Map([[1, 600]]), opening: new Set(["a server"]) });
  const { claims } = plan([waiting(1)], { room: starting, memoryOf: need });
  expect(claims).toMatchObject([{ memoryMiB: 0, isShared: true }]);
});

test("programs of about the same stated memory share a lane, and large ones are in none with small ones", () => {
  const program = { name: "program", memory: { reservedMiB: () => 0 } };
  const laneOfSize = (memoryMiB: number): string => laneOf(program, 7, memoryMiB);
  expect(laneOfSize(0)).toBe("program");
  expect([1025, 2047, 2048].map(laneOfSize)).toEqual(Array.from({ length: 3 }, () => "program up to 2048 MiB"));
  const sizes = Array.from({ length: 40 }, (_, each) => Math.round(20 * 1.3 ** each)); // 20 MiB to 550 GiB
  expect(new Set(sizes.map(laneOfSize)).size).toBeLessThan(17);
});

test("queries of an app have a lane of their own", () => {
  const sql = { name: "sql", memory: { reservedMiB: () => 0, sharedBy: () => "" } };
  expect([null, 7].map((appId) => laneOf(sql, appId, 0))).toEqual(["sql", "sql of app 7"]);
});
