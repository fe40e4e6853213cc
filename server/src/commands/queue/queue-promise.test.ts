/** The promise of `docs/command-states.md`: a command that is no larger than its account's share starts sooner or later. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Candidate } from "../store/claims.ts";
import { planClaims } from "./claim-plan.ts";

interface Submitted {
  readonly accountId: number;
  readonly memoryMiB: number;
  /** How many minutes it runs. */
  readonly minutes: number;
}

interface Waiting {
  readonly candidate: Candidate;
  readonly submitted: Submitted;
  shortSince: number | undefined;
}

/** A node of 1000 MiB on which an account's share is 500. Each command has a lane of its own. */
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
    const waiting = new Map(this.#waiting.map((each) => [each.candidate.id, each]));
    const { claims, shortages } = planClaims({
      candidates: this.#waiting.map(({ candidate }) => ({
        ...candidate,
        accountRunning: byAccount.get(candidate.accountId)?.length ?? 0,
      })),
      caps: { perAccount: 20, perCluster: 20 },
      room: { budgetMiB: 1000, shareMiB: 500, usedMiB: memoryOf(this.#running), usedBy },
      memoryOf: ({ id }) => waiting.get(id)?.submitted.memoryMiB ?? 0,
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

function memoryOf(commands: readonly Submitted[]): number {
  return commands.reduce((sum, { memoryMiB }) => sum + memoryMiB, 0);
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

/** Longer than all commands that are due earlier take one after the other. */
const MINUTES = 40;
const EARLIER_MINUTES = 3;

const submitted = fc.record({
  accountId: fc.integer({ min: 1, max: 4 }),
  memoryMiB: fc.integer({ min: 50, max: 1000 }),
  minutes: fc.integer({ min: 1, max: 4 }),
});
const submissionsOfMinutes = (minutes: number) =>
  fc.array(fc.array(submitted, { maxLength: 3 }), { minLength: minutes, maxLength: minutes });

test("a command no larger than the share starts, whatever its own and other accounts submit before and after it", () => {
  fc.assert(
    fc.property(
      submissionsOfMinutes(EARLIER_MINUTES),
      submissionsOfMinutes(MINUTES),
      fc.integer({ min: 50, max: 500 }),
      (earlier, later, memoryMiB) => {
        const node = new SimulatedNode();
        const pass = (minutes: Submitted[][]): void => {
          for (const submissions of minutes) {
            for (const each of submissions) node.submit(each);
            node.step();
          }
        };
        pass(earlier);
        const watched = node.submit({ accountId: 1, memoryMiB, minutes: 1 });
        pass(later);
        expect(node.hasStarted(watched)).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
