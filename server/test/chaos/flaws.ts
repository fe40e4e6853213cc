import { areEven } from "../support/even-shares.ts";
import { lateAnswersOf, neverAskedOn } from "./cut-off-answers.ts";
import type { ChaosReport } from "./report.ts";

/** A sound product stays far above this share; one that loses commands that no fault struck does not. */
const MIN_DONE_SHARE = 0.6;

/**
 * Everything that is wrong with a chaos run: the findings of the judge, leftover processes, and the faults, commands
 * and processes that the run lacked, without which it proves too little.
 */
export function flawsOf(
  report: Omit<ChaosReport, "seconds" | "causes" | "shares" | "leftOut" | "continuedCopies">,
): string[] {
  const {
    verdict,
    left,
    cutOffAnswers,
    calmShares,
    isOverloaded,
    faults,
    ends,
    doneShare,
    manners,
    retriedKills,
    folderChanges,
    seen,
  } = report;
  const hasStandbys = "kill a waiting driver" in faults;
  const kindsNeverDone = ["program", "query", "refresh", "copy"].filter((kind) => (ends[`${kind} done`] ?? 0) === 0);
  const unseen = Object.entries(seen).filter(
    ([kind, times]) => times === 0 && (hasStandbys || kind !== "waiting driver"),
  );
  return [
    ...Object.entries(verdict).flatMap(([finding, flaws]: [string, string[]]) =>
      flaws.map((flaw) => `${finding}: ${flaw}`),
    ),
    ...lateAnswersOf(cutOffAnswers, isOverloaded),
    ...("cut the second node off" in faults ? neverAskedOn("open", cutOffAnswers) : []),
    ...("break the connections of the second node and cut it off" in faults ? neverAskedOn("new", cutOffAnswers) : []),
    ...(calmShares === undefined || areEven(calmShares) || isOverloaded
      ? []
      : [`equal nodes ran unequal numbers of commands without a fault: ${calmShares.join("/")}`]),
    ...left.map((process) => `still running after the stop: ${process}`),
    ...Object.entries(faults).flatMap(([name, times]) => (times === 0 ? [`fault that never struck: ${name}`] : [])),
    ...(doneShare >= MIN_DONE_SHARE ? [] : [`too few commands are done: ${Math.round(100 * doneShare)} %`]),
    ...kindsNeverDone.map((kind) => `no ${kind} was done`),
    ...(hasStandbys && (manners["standby"] ?? 0) === 0 ? ["no program ran on a standby driver"] : []),
    ...(folderChanges > 0 ? [] : ["no folder was changed while faults struck"]),
    ...(retriedKills > 0 ? [] : ["no killed attempt was retried"]),
    ...unseen.map(([kind]) => `the search for processes never found a ${kind}`),
  ];
}
