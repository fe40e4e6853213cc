/** The promises of `docs/command-states.md` about the commands that start sooner or later. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Candidate } from "../store/claims.ts";
import { planClaims } from "./claim-plan.ts";

interface Submitted {
  readonly accountId: number;
  /** `query`: the warm server of its account. */
  readonly needs: "program" | "query" | "nothing";
  /** Of a program. */
  readonly memoryMiB: number;
  /** How many minutes it runs. */
  readonly minutes: number;
}

interface Waiting {
  readonly candidate: Candidate;
  readonly submitted: Submitted;
  shortSince: number | undefined;
}

const SERVER_MIB = 100;

/**
 * A node of 1000 MiB on which an account's share is 500. Each command has a lane of its own. A warm server ends when the
 * last query on it ends.
 */
class SimulatedNode {
  #waiting: Waiting[] = [];
  #running: (Submitted & { readonly endsAt: number })[] = [];
  #minute = 0;

  submit(submitted: Submitted): number {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#waiting.push({ candidate: candidateOf(id, submitted.accountId), submitted, shortSince: undefined });
    return id;
  }

  hasStarted(id: number): boolean {
    return this.#waiting.every(({ candidate }) => candidate.id !== id);
  }

  /** A minute passes. */
  step(): void {
    this.#minute += 1;
    this.#running = this.#running.filter(({ endsAt }) => endsAt > this.#minute);
    const byAccount = Map.groupBy(this.#running, ({ accountId }) => accountId);
    const usedBy = new Map([...byAccount].map(([accountId, runs]) => [accountId, memoryOf(runs)]));
    const queried = [...byAccount].filter(([, runs]) => runs.some(({ needs }) => needs === "query"));
    const serversBy = new Map(queried.map(([accountId]) => [accountId, SERVER_MIB]));
    const usedMiB = [...usedBy.values()].reduce((sum, each) => sum + each, 0);
    const waiting = new Map(this.#waiting.map((each) => [each.candidate.id, each]));
    const { claims, shortages } = planClaims({
      candidates: this.#waiting.map(({ candidate }) => ({
        ...candidate,
        accountRunning: byAccount.get(candidate.accountId)?.length ?? 0,
      })),
      caps: { perAccount: 20, perCluster: 20 },
      room: { budgetMiB: 1000, shareMiB: 500, usedMiB, usedBy, serversBy, opening: new Set() },
      memoryOf: ({ id, accountId }) => {
        const each = waiting.get(id)?.submitted;
        if (each?.needs !== "query") return each === undefined ? 0 : memoryOf([each]);
        return { memoryMiB: serversBy.has(accountId) ? 0 : SERVER_MIB, sharedBy: `server of ${accountId}` };
      },
      waitedMs: ({ id }) => 60_000 * (this.#minute - (waiting.get(id)?.shortSince ?? this.#minute)),
    });
    for (const each of this.#waiting) if (shortages.has(each.candidate.id)) each.shortSince ??= this.#minute;
    const claimed = new Set(claims.map(({ candidate }) => candidate.id));
    for (const { candidate, submitted } of this.#waiting) {
      if (!claimed.has(candidate.id)) continue;
      this.#running.push({ ...submitted, endsAt: this.#minute + submitted.minutes });
    }
    this.#waiting = this.#waiting.filter(({ candidate }) => !claimed.has(candidate.id));
  }

  #lastId = 0;
}

/** The memory that commands of one account use. */
function memoryOf(commands: readonly Submitted[]): number {
  const programs = commands.filter(({ needs }) => needs === "program");
  const serverMiB = commands.some(({ needs }) => needs === "query") ? SERVER_MIB : 0;
  return programs.reduce((sum, { memoryMiB }) => sum + memoryMiB, serverMiB);
}

function candidateOf(id: number, accountId: number): Candidate {
  return {
    id,
    accountId,
    clusterId: accountId,
    appId: null,
    pool: null,
    lane: `lane ${id}`,
    kind: "program",
    commandType: "SparkCommand",
    command: {},
    options: null,
    resolvedMacros: null,
    dueAt: new Date(id),
    accountRunning: 0,
    clusterRunning: 0,
    clusterCap: null,
    isClusterUp: true,
    onlyNodeId: null,
  };
}

/** Longer than the total run time of all commands that are due earlier. */
const MINUTES = 40;
const EARLIER_MINUTES = 3;

const submitted = fc.record({
  accountId: fc.integer({ min: 1, max: 4 }),
  needs: fc.constantFrom("program", "program", "query", "nothing"),
  memoryMiB: fc.integer({ min: 50, max: 1000 }),
  minutes: fc.integer({ min: 1, max: 4 }),
});
const submissionsOfMinutes = (minutes: number) =>
  fc.array(fc.array(submitted, { maxLength: 3 }), { minLength: minutes, maxLength: minutes });

test("a command that fits into the share beside its account's warm server starts, whatever is submitted before and after it", () => {
  fc.assert(
    fc.property(
      submissionsOfMinutes(EARLIER_MINUTES),
      submissionsOfMinutes(MINUTES),
      fc.integer({ min: 50, max: 500 - SERVER_MIB }),
      (earlier, later, memoryMiB) => {
        const node = new SimulatedNode();
        const pass = (minutes: Submitted[][]): void => {
          for (const submissions of minutes) {
            for (const each of submissions) node.submit(each);
            node.step();
          }
        };
        pass(earlier);
        const watched = node.submit({ accountId: 1, needs: "program", memoryMiB, minutes: 1 });
        pass(later);
        expect(node.hasStarted(watched)).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});

/** Submits the same commands each minute, so that some of them run at any time. */
function passHour(node: SimulatedNode, eachMinute: readonly Submitted[]): void {
  for (let minute = 0; minute < 60; minute += 1) {
    for (const each of eachMinute) node.submit(each);
    node.step();
  }
}

const query: Submitted = { accountId: 1, needs: "query", memoryMiB: 0, minutes: 2 };
const neighbour: Submitted = { accountId: 2, needs: "program", memoryMiB: 50, minutes: 2 };

test("a command that does not fit beside a warm server in constant use holds up no other command of its account", () => {
  const node = new SimulatedNode();
  passHour(node, [query, neighbour]);
  const large = node.submit({ accountId: 1, needs: "program", memoryMiB: 450, minutes: 1 });
  passHour(node, [query, neighbour]);
  const small = node.submit({ accountId: 1, needs: "program", memoryMiB: 50, minutes: 1 });
  passHour(node, [query, neighbour]);
  expect([node.hasStarted(large), node.hasStarted(small)]).toEqual([false, true]);
});

test("a command larger than the share starts while others submit commands that start at once", () => {
  const node = new SimulatedNode();
  passHour(node, [neighbour]);
  const large = node.submit({ accountId: 1, needs: "program", memoryMiB: 600, minutes: 1 });
  passHour(node, [neighbour]);
  expect(node.hasStarted(large)).toBe(true);
});
