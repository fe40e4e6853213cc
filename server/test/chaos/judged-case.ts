import { resultOfCopy } from "./copied-files.ts";
import { parseJournal } from "./journal.ts";
import { judge, type Attempt, type Evidence, type Outcome, type Submitted, type Verdict } from "./judge.ts";
import { Outages } from "./outages.ts";
import { parseQueryJournal } from "./query-journal.ts";

/** Cases for the tests of the judge: a sound command, and changes to it. */
export const first: Attempt = { number: 1, startedMs: 0, endedMs: 5000, exitCode: 0, cause: null, node: 0 };
export const second: Attempt = { ...first, number: 2 };
export const LINES = "1 1 start 1 cold\n1 1 tick 2\n1 1 end 3\n";
export const SECOND = "1 2 start 4 standby\n1 2 end 5\n";

export interface Case {
  readonly wanted?: Partial<Submitted>;
  readonly outcome?: Partial<Outcome>;
  readonly lines?: string;
  readonly queries?: string;
  readonly killed?: readonly string[];
  readonly outages?: Outages;
}

export function judged({
  wanted = {},
  outcome = {},
  lines = LINES,
  queries = "",
  killed = [],
  outages = new Outages(),
}: Case): Verdict {
  const submitted: Submitted = {
    id: 1,
    key: "chaos-0",
    kind: "program",
    fails: false,
    retry: 1,
    cancelled: false,
    ...wanted,
  };
  const found: Outcome = {
    id: 1,
    status: "done",
    endMs: 5000,
    attempts: [first],
    result: lines,
    log: lines,
    ...outcome,
  };
  const evidence: Evidence = {
    lines: parseJournal(lines),
    queries: parseQueryJournal(queries),
    killed: new Set(killed),
    outages,
    leaseSeconds: 5,
    silentSeconds: 10,
    nodes: [0, 1],
    partitions: ["a=1", "a=2"],
  };
  return judge([submitted], [found], evidence);
}

/** An outage by a fault that begins at 0. Node 0 renews its lease at 0 and after `seconds`. */
export function away(part: 0 | "spark", seconds: number): Outages {
  const outages = missedLease(seconds);
  outages.begin([part]);
  return outages;
}

/** A gap between two renewals of a lease that no fault caused. */
export function missedLease(seconds: number, isOverloaded = false): Outages {
  const outages = new Outages(() => 0);
  outages.isOverloaded = isOverloaded;
  for (const atMs of [0, seconds * 1000]) outages.noteRenewal(0, atMs);
  return outages;
}

export const failed = (cause: string, more: Partial<Attempt> = {}): Attempt => ({
  ...first,
  exitCode: null,
  cause,
  ...more,
});
export const once = { retry: 0 };
export const query = { kind: "query" } as const;
export const refresh = { kind: "refresh", retry: 0 } as const;
export const copy = { kind: "copy" } as const;
export const STRANDED =
  "it cannot continue: node 7, which has the journal of the copy, has fallen silent. Submit the command again";
export const LEASE = "the lease was not renewed for 5 s: this node may have lost contact with the others";
export const SILENT = "the node that ran it has fallen silent";
export const KILLED = "its runner was ended from outside";
export const DIED = "the Spark server that ran it has died";
export const twice = `${resultOfCopy("chaos-0")}\n${resultOfCopy("chaos-0")}`;
export const OPERATION = "chaos-0 op-1 start 1\nchaos-0 op-1 end 2\n";
