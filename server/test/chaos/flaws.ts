import type { ChaosReport } from "./report.ts";

/** A sound product is far above it; one that loses what its faults have not touched is not. */
const LEAST_DONE = 0.6;

/** All that is wrong with a run: what the judge found, what was left, and whatever did not take part. */
export function flawsOf(report: Omit<ChaosReport, "seconds" | "causes" | "isOverloaded">): string[] {
  const { verdict, left, faults, ends, doneShare, manners, retriedKills, seen } = report;
  const hasStandbys = "kill a waiting driver" in faults;
  const kindsDone = ["program", "query", "refresh"].filter((kind) => (ends[`${kind} done`] ?? 0) === 0);
  const unseen = Object.entries(seen).filter(
    ([sort, times]) => times === 0 && (hasStandbys || sort !== "waiting driver"),
  );
  return [
    ...Object.entries(verdict).flatMap(([sort, flaws]: [string, string[]]) => flaws.map((flaw) => `${sort}: ${flaw}`)),
    ...left.map((process) => `left: ${process}`),
    ...Object.entries(faults).flatMap(([name, times]) => (times === 0 ? [`fault that never struck: ${name}`] : [])),
    ...(doneShare >= LEAST_DONE ? [] : [`too few are done: ${Math.round(100 * doneShare)} %`]),
    ...kindsDone.map((kind) => `no ${kind} is done`),
    ...(hasStandbys && (manners["standby"] ?? 0) === 0 ? ["no program was run by a driver that had waited"] : []),
    ...(retriedKills > 0 ? [] : ["no attempt that was killed was run again"]),
    ...unseen.map(([sort]) => `never seen while it ran: ${sort}`),
  ];
}
