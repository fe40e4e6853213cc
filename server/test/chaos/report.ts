import type { JournalLine } from "./journal.ts";
import type { Outcome, Submitted, Verdict } from "./judge.ts";
import type { ProcessSort } from "./watch-processes.ts";

export interface ChaosReport {
  readonly verdict: Verdict;
  /** Processes that were still there when everything had ended. */
  readonly left: readonly string[];
  /** How often each struck; every kind of fault is in it. */
  readonly faults: Readonly<Record<string, number>>;
  /** How commands ended, by their kind and status. */
  readonly ends: Readonly<Record<string, number>>;
  /** Of those that neither fail by themselves nor were cancelled, how many are done: from 0 to 1. */
  readonly doneShare: number;
  /** How programs were started: by a driver of their own, or one that had waited. */
  readonly manners: Readonly<Record<string, number>>;
  /** Attempts that were killed by a fault and run again. */
  readonly retriedKills: number;
  /** Why attempts failed. */
  readonly causes: Readonly<Record<string, number>>;
  /** How many processes of each sort were seen at once, at most. */
  readonly seen: Readonly<Record<ProcessSort, number>>;
  /** The machine had so much else to do that leases which were lost without a fault are excused. */
  readonly isOverloaded: boolean;
  readonly seconds: number;
}

export function summaryOf(
  submitted: readonly Submitted[],
  outcomes: readonly Outcome[],
  lines: readonly JournalLine[],
  hit: ReadonlySet<string>,
): Pick<ChaosReport, "ends" | "doneShare" | "manners" | "retriedKills" | "causes"> {
  const kindOf = new Map(submitted.map(({ id, kind }) => [id, kind]));
  const attempts = outcomes.flatMap(({ id, attempts }) => attempts.map((attempt) => ({ id, ...attempt })));
  const healthy = new Set(submitted.filter(({ fails, cancelled }) => !fails && !cancelled).map(({ id }) => id));
  const good = outcomes.filter(({ id }) => healthy.has(id));
  const retried = attempts.filter(({ id, number, cause }) => {
    const isKilled = cause !== null && hit.has(`${id}/${number}`);
    return isKilled && attempts.some((other) => other.id === id && other.number === number + 1);
  });
  return {
    ends: countBy(outcomes.map(({ id, status }) => `${kindOf.get(id)} ${status}`)),
    doneShare: good.filter(({ status }) => status === "done").length / good.length,
    manners: countBy(lines.flatMap(({ manner }) => manner ?? [])),
    retriedKills: retried.length,
    causes: countBy(attempts.flatMap(({ cause }) => cause ?? [])),
  };
}

function countBy(words: readonly string[]): Record<string, number> {
  const counted = Map.groupBy(words.toSorted(), (word) => word);
  return Object.fromEntries([...counted].map(([word, all]) => [word, all.length]));
}
