import { describe, expect, test } from "vitest";
import { resultOfCopy } from "./copied-files.ts";
import { CLEAN, judge, type Verdict } from "./judge.ts";
import {
  first,
  second,
  LINES,
  SECOND,
  type Case,
  judged,
  away,
  missedLease,
  failed,
  once,
  query,
  refresh,
  copy,
  STRANDED,
  LEASE,
  SILENT,
  KILLED,
  DIED,
  twice,
  OPERATION,
} from "./judged-case.ts";
import { Outages } from "./outages.ts";

const sound: [string, Case][] = [
  ["a program that runs once", {}],
  [
    "a second attempt after the first was killed",
    { outcome: { attempts: [failed(KILLED), second], result: SECOND }, lines: LINES + SECOND, killed: ["1/1"] },
  ],
  [
    "a killed program without retries",
    { wanted: once, outcome: { status: "error", attempts: [failed("exit code 137")] }, killed: ["1/1"] },
  ],
  [
    "a program that is made to fail",
    {
      wanted: { ...once, fails: true },
      outcome: { status: "error", attempts: [failed("exit code 3", { exitCode: 3 })] },
    },
  ],
  [
    "a lease that was lost while the node was away",
    {
      wanted: once,
      outcome: { status: "error", attempts: [failed(LEASE, { endedMs: 5200 })] },
      outages: away(0, 6),
    },
  ],
  [
    "a lease that was lost on an overloaded machine",
    {
      wanted: once,
      outcome: { status: "error", attempts: [failed(LEASE, { endedMs: 5200 })] },
      outages: missedLease(6, true),
    },
  ],
  [
    "a node that fell silent",
    {
      wanted: once,
      outcome: { status: "error", endMs: 12_000, attempts: [failed(SILENT, { endedMs: 12_000 })] },
      outages: away(0, 14),
    },
  ],
  [
    "a command that was cancelled on request",
    { wanted: { cancelled: true }, outcome: { status: "cancelled", attempts: [] }, lines: "" },
  ],
  ["a query", { wanted: query, outcome: { result: "chaos-0\top-1\r\n" }, lines: "", queries: OPERATION }],
  [
    "a query whose server died",
    {
      wanted: { ...query, ...once },
      outcome: { status: "error", attempts: [failed(DIED)] },
      lines: "",
      outages: away("spark", 1),
    },
  ],
  [
    "a refresh that another node finished",
    {
      wanted: refresh,
      outcome: { attempts: [{ ...first, endedMs: 12_000 }], endMs: 12_000, result: "a=2" },
      lines: "",
      outages: away(0, 12),
    },
  ],
  ["a copy", { wanted: copy, outcome: { result: resultOfCopy("chaos-0") }, lines: "" }],
  [
    "a killed copy that no node could continue because its own was silent, although it had retries left",
    {
      wanted: { ...copy, retry: 3 },
      outcome: {
        status: "error",
        attempts: [failed(KILLED), failed(STRANDED, { number: 2, node: 1, endedMs: 12_000 })],
        endMs: 12_000,
      },
      lines: "",
      killed: ["1/1"],
      outages: away(0, 12),
    },
  ],
  [
    "a copy that is made to fail",
    {
      wanted: { ...copy, ...once, fails: true },
      outcome: { status: "error", attempts: [failed("s3://chaos/missing: the source does not exist")] },
      lines: "",
    },
  ],
  ["a refresh", { wanted: refresh, outcome: { result: "a=2\na=1" }, lines: "" }],
];

const unsound: [keyof Verdict, string, Case][] = [
  ["lost", "done without reaching its end", { lines: "1 1 start 1 cold\n" }],
  ["lost", "done with half of its output", { outcome: { result: "1 1 start 1 cold\n" } }],
  ["lost", "done without its log", { outcome: { log: "" } }],
  ["lost", "done although it is made to fail", { wanted: { fails: true } }],
  ["lost", "done after nothing but a failed attempt", { outcome: { attempts: [failed(KILLED)] }, killed: ["1/1"] }],
  ["lost", "cancelled without a request", { outcome: { status: "cancelled", attempts: [] }, lines: "" }],
  [
    "lost",
    "rows of another run",
    { wanted: query, outcome: { result: "chaos-0\top-2\r\n" }, lines: "", queries: OPERATION },
  ],
  ["lost", "a copy that reports a file twice", { wanted: copy, outcome: { result: twice }, lines: "" }],
  [
    "unexplained",
    "a copy that could not continue although its node was not silent",
    {
      wanted: copy,
      outcome: { status: "error", attempts: [failed(KILLED), failed(STRANDED, { number: 2, node: 1 })] },
      lines: "",
      killed: ["1/1"],
    },
  ],
  [
    "repeated",
    "a copy that continued on another node",
    {
      wanted: copy,
      outcome: {
        attempts: [failed(KILLED), { ...first, number: 2, node: 1 }],
        result: resultOfCopy("chaos-0"),
      },
      lines: "",
      killed: ["1/1"],
    },
  ],
  [
    "unexplained",
    "a copy that failed for another reason than a fault",
    { wanted: { ...copy, ...once }, outcome: { status: "error", attempts: [failed("exit code 1")] }, lines: "" },
  ],
  ["lost", "a missing partition", { wanted: refresh, outcome: { result: "a=1" }, lines: "" }],
  ["lost", "a partition twice", { wanted: refresh, outcome: { result: "a=1\na=1" }, lines: "" }],
  [
    "overlapping",
    "a tick of the first attempt during the second",
    {
      outcome: { attempts: [failed(KILLED), second], result: "1 2 start 2 cold\n1 2 end 4\n" },
      lines: "1 1 start 1 cold\n1 2 start 2 cold\n1 1 tick 3\n1 2 end 4\n",
      killed: ["1/1"],
    },
  ],
  ["overlapping", "a line after the stored end", { lines: "1 1 start 1 cold\n1 1 end 5200\n" }],
  ["repeated", "an attempt that began twice", { lines: "1 1 start 1 cold\n1 1 start 2 cold\n1 1 end 3\n" }],
  [
    "repeated",
    "more attempts than its retries allow",
    {
      wanted: once,
      outcome: { attempts: [failed(KILLED), second], result: SECOND },
      lines: LINES + SECOND,
      killed: ["1/1"],
    },
  ],
  [
    "repeated",
    "an attempt that the API does not list",
    { lines: LINES + SECOND, outcome: { result: LINES, endMs: null } },
  ],
  [
    "repeated",
    "a query that ran twice in one attempt",
    {
      wanted: query,
      outcome: { result: "chaos-0\top-1\r\n" },
      lines: "",
      queries: `${OPERATION}chaos-0 op-2 start 3\n`,
    },
  ],
  [
    "unretried",
    "an error with a retry left",
    { outcome: { status: "error", attempts: [failed(KILLED)] }, killed: ["1/1"] },
  ],
  [
    "unexplained",
    "a kill that no fault caused",
    { wanted: once, outcome: { status: "error", attempts: [failed(KILLED)] } },
  ],
  [
    "unexplained",
    "an exit code that is not the program's",
    { wanted: once, outcome: { status: "error", attempts: [failed("exit code 1", { exitCode: 1 })] } },
  ],
  [
    "unexplained",
    "a lost lease of a node that was away for less than the lease",
    { wanted: once, outcome: { status: "error", attempts: [failed(LEASE)] }, outages: away(0, 1) },
  ],
  [
    "unexplained",
    "a lost lease of a node that no fault struck",
    { wanted: once, outcome: { status: "error", attempts: [failed(LEASE)] }, outages: missedLease(6) },
  ],
  [
    "unexplained",
    "a lost lease before the lease can have expired",
    {
      wanted: once,
      outcome: { status: "error", attempts: [failed(LEASE, { endedMs: 2000 })] },
      outages: away(0, 6),
    },
  ],
  [
    "unexplained",
    "a silent node that was away for less time than the others wait",
    { wanted: once, outcome: { status: "error", attempts: [failed(SILENT)] }, outages: away(0, 5) },
  ],
  [
    "unexplained",
    "a dead Spark server that no fault struck",
    { wanted: { ...query, ...once }, outcome: { status: "error", attempts: [failed(DIED)] }, lines: "" },
  ],
  [
    "unexplained",
    "a refresh that failed for lack of a lease",
    { wanted: refresh, outcome: { status: "error", attempts: [failed(LEASE)] }, lines: "" },
  ],
  ["stuck", "a command that still runs", { outcome: { status: "running", endMs: null } }],
];

describe("the judge", () => {
  test.each(sound)("finds nothing wrong with %s", (_, given) => {
    expect(judged(given)).toEqual(CLEAN);
  });

  test.each(unsound)("reports as %s: %s", (finding, _, given) => {
    expect(judged(given)).toEqual({ ...CLEAN, [finding]: [expect.any(String)] });
  });

  test("reports commands that were acknowledged but not stored, or stored but never submitted", () => {
    const evidence = {
      lines: [],
      queries: [],
      killed: new Set<string>(),
      outages: new Outages(),
      leaseSeconds: 5,
      silentSeconds: 10,
      nodes: [],
      partitions: [],
    };
    const submitted = { id: 1, key: "chaos-0", kind: "program", fails: false, retry: 0, cancelled: false } as const;
    const outcome = { id: 1, status: "cancelled", endMs: 1, attempts: [], result: undefined, log: "" };
    expect(judge([submitted], [], evidence).lost).toHaveLength(1);
    expect(judge([], [outcome], evidence).repeated).toHaveLength(1);
  });
});
