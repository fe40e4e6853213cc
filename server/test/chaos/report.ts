import type { CutOffAnswer } from "./cut-off-answers.ts";
import type { JournalLine } from "./journal.ts";
import type { Outcome, Submitted, Verdict } from "./judge.ts";
import type { ProcessKind } from "./watch-processes.ts";

export interface ChaosReport {
  readonly verdict: Verdict;
  /** Processes that were left after everything was stopped. */
  readonly left: readonly string[];
  /** How often each kind of fault struck, 0 included. */
  readonly faults: Readonly<Record<string, number>>;
  /** Faults that this machine cannot have, and why. */
  readonly leftOut: readonly string[];
  /** How many commands ended in which way, by kind and status. */
  readonly ends: Readonly<Record<string, number>>;
  /** The share (0 to 1) of done commands among those that were neither made to fail nor cancelled. */
  readonly doneShare: number;
  /** How many programs ran on a driver of their own (`cold`) and on one that had waited (`standby`). */
  readonly manners: Readonly<Record<string, number>>;
  /** How many attempts that a fault had killed were retried. */
  readonly retriedKills: number;
  /** How many attempts failed for which cause. */
  readonly causes: Readonly<Record<string, number>>;
  /** The largest number of processes of each kind that were seen at the same time. */
  readonly seen: Readonly<Record<ProcessKind, number>>;
  /** How many attempts each node ran, by its index. */
  readonly shares: Readonly<Record<string, number>>;
  /** How many attempts each node ran before the first fault. Undefined: the short form has no such stretch. */
  readonly calmShares: readonly number[] | undefined;
  /** The responses of a node while it was cut off from its database. */
  readonly cutOffAnswers: readonly CutOffAnswer[];
  /** The machine was so busy that leases lost without a fault are excused. */
  readonly isOverloaded: boolean;
  /** How many changes of folders and notebooks were acknowledged while faults struck. */
  readonly folderChanges: number;
  /** How many copies continued after a failed attempt. */
  readonly continuedCopies: number;
  readonly seconds: number;
}

export function summaryOf(
  submitted: readonly Submitted[],
  outcomes: readonly Outcome[],
  lines: readonly JournalLine[],
  killed: ReadonlySet<string>,
): Pick<ChaosReport, "ends" | "doneShare" | "manners" | "retriedKills" | "causes" | "shares" | "continuedCopies"> {
  const kindOf = new Map(submitted.map(({ id, kind }) => [id, kind]));
  const attempts = outcomes.flatMap(({ id, attempts }) => attempts.map((attempt) => ({ id, ...attempt })));
  const healthy = new Set(submitted.filter(({ fails, cancelled }) => !fails && !cancelled).map(({ id }) => id));
  const meantToBeDone = outcomes.filter(({ id }) => healthy.has(id));
  const retried = attempts.filter(({ id, number, cause }) => {
    const isKilled = cause !== null && killed.has(`${id}/${number}`);
    return isKilled && attempts.some((other) => other.id === id && other.number === number + 1);
  });
  return {
    ends: countBy(outcomes.map(({ id, status }) => `${kindOf.get(id)} ${status}`)),
    doneShare: meantToBeDone.filter(({ status }) => status === "done").length / meantToBeDone.length,
    manners: countBy(lines.flatMap(({ manner }) => manner ?? [])),
    retriedKills: retried.length,
    continuedCopies: outcomes.filter(({ id, attempts: all }) => kindOf.get(id) === "copy" && all.length > 1).length,
    causes: countBy(attempts.flatMap(({ cause }) => cause ?? [])),
    shares: countBy(attempts.map(({ node }) => `node ${node + 1}`)),
  };
}

function countBy(words: readonly string[]): Record<string, number> {
  const counted = Map.groupBy(words.toSorted(), (word) => word);
  return Object.fromEntries([...counted].map(([word, all]) => [word, all.length]));
}
