import { resultOfCopy } from "./copied-files.ts";
import { outputOf, type JournalLine } from "./journal.ts";
import type { Outages } from "./outages.ts";
import { resultOfQuery, type QueryLine } from "./query-journal.ts";

/** A command that a client submitted, and what the client may expect of it. */
export interface Submitted {
  readonly id: number;
  /** The client's own name of the command, also its idempotency key. */
  readonly key: string;
  readonly kind: "program" | "query" | "refresh" | "copy";
  /** It is made to fail in every attempt. */
  readonly fails: boolean;
  readonly retry: number;
  /** The client asked to cancel it. */
  readonly cancelled: boolean;
}

export interface Attempt {
  readonly number: number;
  readonly startedMs: number;
  /** Null: the attempt has not ended. */
  readonly endedMs: number | null;
  readonly exitCode: number | null;
  readonly cause: string | null;
  /** The index of its node. */
  readonly node: number;
}

/** How a command ended, according to the API; times and nodes come from the store. */
export interface Outcome {
  readonly id: number;
  readonly status: string;
  readonly endMs: number | null;
  readonly attempts: readonly Attempt[];
  /** Only of a command that is done: its output, its rows, or the partitions that it added. */
  readonly result: string | undefined;
  /** Undefined: its attempts ran on several nodes. To read their log the nodes would have to share storage. */
  readonly log: string | undefined;
}

/** The judge compares the outcomes with this. */
export interface Evidence {
  readonly lines: readonly JournalLine[];
  readonly queries: readonly QueryLine[];
  /** Attempts of which a fault killed a process, as `command/number`. */
  readonly killed: ReadonlySet<string>;
  readonly outages: Pick<Outages, "wasAwayFor" | "sparkWasAway">;
  readonly leaseSeconds: number;
  readonly silentSeconds: number;
  readonly nodes: readonly unknown[];
  /** The partitions that a refresh of any table has to add. */
  readonly partitions: readonly string[];
}

export interface Verdict {
  /** A command that was acknowledged but is missing, is done but did not run to its end, or was cancelled unasked. */
  readonly lost: string[];
  /** An attempt that ran after a later one had begun, or after the end of the command was stored. */
  readonly overlapping: string[];
  /** A command that ran more often than it should have, or that was never submitted. */
  readonly repeated: string[];
  /** A command that failed although it had retries left. */
  readonly unretried: string[];
  /** An attempt that failed although no fault explains it. */
  readonly unexplained: string[];
  /** A command that has not ended. */
  readonly stuck: string[];
}

export const CLEAN: Verdict = { lost: [], overlapping: [], repeated: [], unretried: [], unexplained: [], stuck: [] };

/** Tolerance for the time between a program's reading of the clock and the writing of its line. */
const LATE_MS = 100;
const ENDED = ["done", "error", "cancelled"];

export function judge(submitted: readonly Submitted[], outcomes: readonly Outcome[], evidence: Evidence): Verdict {
  const outcomeBy = new Map(outcomes.map((outcome) => [outcome.id, outcome]));
  const acknowledged = new Set(submitted.map(({ id }) => id));
  const linesBy = Map.groupBy(evidence.lines, ({ command }) => command);
  const pairs = submitted.flatMap((wanted) => {
    const outcome = outcomeBy.get(wanted.id);
    return outcome === undefined ? [] : [{ wanted, outcome, lines: linesBy.get(wanted.id) ?? [] }];
  });
  const strangers = outcomes.filter(({ id }) => !acknowledged.has(id));
  return {
    lost: [
      ...submitted.filter(({ id }) => !outcomeBy.has(id)).map(({ id }) => `${id} was acknowledged but is not stored`),
      ...pairs.flatMap((pair) => lossOf(pair, evidence) ?? []),
    ],
    overlapping: pairs.flatMap(({ outcome, lines }) => overlapsOf(outcome, lines)),
    repeated: [
      ...strangers.map(({ id }) => `${id} was stored without being submitted`),
      ...pairs.flatMap((pair) => repetitionsOf(pair, evidence)),
    ],
    unretried: pairs.flatMap(({ wanted, outcome }) => missingRetriesOf(wanted, outcome)),
    unexplained: pairs.flatMap(({ wanted, outcome }) => unexplainedOf(wanted, outcome, evidence)),
    stuck: outcomes.filter(({ status }) => !ENDED.includes(status)).map(({ id, status }) => `${id} is ${status}`),
  };
}

interface Pair {
  readonly wanted: Submitted;
  readonly outcome: Outcome;
  readonly lines: readonly JournalLine[];
}

function lossOf(pair: Pair, evidence: Evidence): string | undefined {
  const { wanted, outcome } = pair;
  const { id, status } = outcome;
  if (status === "cancelled" && !wanted.cancelled) return `${id} was cancelled without a request`;
  if (status !== "done") return undefined;
  if (wanted.fails) return `${id} is done although it is made to fail`;
  const last = outcome.attempts.at(-1);
  if (last === undefined || last.cause !== null) return `${id} is done but its last attempt failed: ${last?.cause}`;
  return resultFlaw(pair, last, evidence);
}

/** Compares the result that the API returns with the journals. */
function resultFlaw({ wanted, outcome, lines }: Pair, last: Attempt, evidence: Evidence): string | undefined {
  const { id, result } = outcome;
  switch (wanted.kind) {
    case "program": {
      const own = lines.filter(({ attempt }) => attempt === last.number);
      if (own.at(-1)?.word !== "end")
        return `${id} is done but its program did not reach its end: ${own.at(-1)?.text ?? "it never began"}`;
      if (result !== outputOf(lines, last.number))
        return `${id} has a result that it did not print: ${JSON.stringify(result)}`;
      const { log = own[0]?.text } = outcome;
      return log?.includes(own[0]?.text ?? "") === true ? undefined : `${id} has a log without its first line`;
    }
    case "query": {
      const ended = evidence.queries.filter(({ key, word }) => key === wanted.key && word === "end");
      const possible = ended.map(({ key, operation }) => resultOfQuery(key, operation));
      return possible.includes(result ?? "")
        ? undefined
        : `${id} has rows that no run of it returned: ${JSON.stringify(result)}`;
    }
    case "refresh": {
      const names = (result ?? "").split("\n").filter((name) => name !== "");
      const isOnceEach =
        new Set(names).size === names.length && names.every((name) => evidence.partitions.includes(name));
      const isAll = names.length === evidence.partitions.length || mayHaveMoved(last, evidence);
      return isOnceEach && isAll ? undefined : `${id} reports wrong partitions: ${names.join(" ")}`;
    }
    case "copy":
      return result === resultOfCopy(wanted.key) ? undefined : `${id} reports wrong files: ${result}`;
  }
}

/** Whether another node may have begun the refresh again. Its result lists only the partitions that it added itself. */
function mayHaveMoved({ startedMs, endedMs }: Attempt, { outages, silentSeconds, nodes }: Evidence): boolean {
  const ran = { fromMs: 0, toMs: endedMs ?? startedMs };
  return [...nodes.keys()].some((node) => outages.wasAwayFor(node, ran, silentSeconds * 1000));
}

function overlapsOf({ id, endMs }: Outcome, lines: readonly JournalLine[]): string[] {
  const overlaps = lines.filter((line, index) => lines.slice(0, index).some(({ attempt }) => attempt > line.attempt));
  const late = lines.filter(({ atMs }) => endMs !== null && atMs > endMs + LATE_MS);
  return [
    ...overlaps.map(({ attempt, word }) => `${id}: ${word} of attempt ${attempt} after a later attempt had begun`),
    ...late.map(({ word, atMs }) => `${id}: ${word} ${atMs - (endMs ?? 0)} ms after it had ended`),
  ];
}

function repetitionsOf({ wanted, outcome, lines }: Pair, { queries }: Evidence): string[] {
  const { id, retry, key, kind } = wanted;
  const starts = lines.filter(({ word }) => word === "start").map(({ attempt }) => attempt);
  const operations = queries.filter((line) => line.key === key && line.word === "start");
  const numbers = outcome.attempts.map(({ number }) => number);
  const ran = outcome.attempts.filter((attempt) => !isEndedElsewhere(attempt));
  return [
    ...(kind === "copy" && new Set(ran.map(({ node }) => node)).size > 1 ? [`${id}: a copy ran on several nodes`] : []),
    ...(starts.length > new Set(starts).size ? [`${id}: an attempt began twice: ${starts.join(", ")}`] : []),
    ...(starts.some((number) => !numbers.includes(number))
      ? [`${id}: an attempt ran that the API does not list: ${starts.join(", ")}`]
      : []),
    ...(numbers.length > retry + 1 ? [`${id}: ${numbers.length} attempts with ${retry} retries`] : []),
    ...(kind === "query" && operations.length > numbers.length
      ? [`${id}: ${operations.length} runs of a query in ${numbers.length} attempts`]
      : []),
  ];
}

/** As long as retries are left, every failed attempt must be followed by another one. */
function missingRetriesOf({ id, retry, cancelled }: Submitted, { status, attempts }: Outcome): string[] {
  const numbers = attempts.map(({ number }) => number);
  const gap = numbers.some((number, index) => number !== index + 1);
  const isTooFew =
    status === "error" && attempts.length < retry + 1 && !cancelled && !isEndedElsewhere(attempts.at(-1));
  return [
    ...(gap ? [`${id}: the numbers of its attempts have a gap: ${numbers.join(", ")}`] : []),
    ...(isTooFew ? [`${id}: an error after ${attempts.length} attempts with ${retry} retries`] : []),
  ];
}

function isEndedElsewhere(attempt: Attempt | undefined): boolean {
  return STRANDED.test(attempt?.cause ?? "");
}

/** A copy continues only on the node that has its journal. Another node ends it when that one is silent. */
function isStranded(attempts: readonly Attempt[], { outages, silentSeconds }: Evidence): boolean {
  const [first, last] = [attempts[0], attempts.at(-1)];
  if (first === undefined || last === undefined || !isEndedElsewhere(last)) return false;
  const span = { fromMs: first.startedMs, toMs: last.endedMs ?? Infinity };
  return first.node !== last.node && outages.wasAwayFor(first.node, span, silentSeconds * 1000);
}

function unexplainedOf(wanted: Submitted, { id, attempts }: Outcome, evidence: Evidence): string[] {
  const upTo = (attempt: Attempt): readonly Attempt[] => attempts.slice(0, attempts.indexOf(attempt) + 1);
  return attempts
    .filter(({ cause }) => cause !== null && !(cause === "cancelled" && wanted.cancelled))
    .filter(
      (attempt) =>
        !isExplained(wanted, attempt, evidence) && !(wanted.kind === "copy" && isStranded(upTo(attempt), evidence)),
    )
    .map(({ number, cause }) => `${wanted.kind} ${id}: attempt ${number} failed and no fault explains it: ${cause}`);
}

const KILLED = /^(its runner was ended from outside|exit code 137|ended by the signal SIGKILL)$/;
const LEASE_OVER = /^(the lease was not renewed for \d+ s|the node has lost touch with the others)/;
const SILENT = /^the node that ran it has fallen silent$/;
const STRANDED = /^it cannot continue: node \S+, which has the journal of the copy, has fallen silent\. Submit /;
const SPARK_GONE = /^the Spark server (that ran it has died|has lost its session|that ran it is gone)$/;

/**
 * Whether the attempt was made to fail, or a fault at the right time and on the right node can make it fail in just
 * this way.
 */
function isExplained(wanted: Submitted, attempt: Attempt, evidence: Evidence): boolean {
  const { cause, number, node } = attempt;
  const ran = { fromMs: attempt.startedMs, toMs: attempt.endedMs ?? Infinity };
  const wasAwayFor = (seconds: number): boolean => evidence.outages.wasAwayFor(node, ran, seconds * 1000);
  const said = cause ?? "";
  if (LEASE_OVER.test(said)) return wasAwayFor(evidence.leaseSeconds);
  if (SILENT.test(said)) return wasAwayFor(evidence.silentSeconds);
  if (wanted.kind === "program") {
    if (KILLED.test(said)) return evidence.killed.has(`${wanted.id}/${number}`);
    return wanted.fails && said === "exit code 3" && attempt.exitCode === 3;
  }
  if (wanted.kind === "copy") {
    if (KILLED.test(said)) return evidence.killed.has(`${wanted.id}/${number}`);
    return wanted.fails && said.endsWith(": the source does not exist");
  }
  if (wanted.kind === "query") {
    if (SPARK_GONE.test(said)) return evidence.outages.sparkWasAway(ran);
    return wanted.fails && said.includes("DIVIDE_BY_ZERO");
  }
  return false;
}
