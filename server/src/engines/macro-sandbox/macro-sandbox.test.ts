import { afterAll, describe, expect, test } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { listProcesses, listProcessLinks } from "../../lib/process-table.ts";
import { evaluate as evaluateHere } from "./evaluate.ts";
import { defaultLimits, macroSandbox } from "./macro-sandbox.ts";
import type { Macro, Outcome } from "./protocol.ts";

const sandbox = macroSandbox();
/** For expressions that use all the time they may. */
const impatient = macroSandbox({ limits: { cpuMs: 200 } });
afterAll(() => {
  sandbox.stop();
  impatient.stop();
});

function evaluate(...expressions: string[]): Promise<Outcome> {
  return evaluateIn(sandbox, ...expressions);
}

function evaluateIn(own: typeof sandbox, ...expressions: string[]): Promise<Outcome> {
  const outcome = own.evaluate(macrosOf(expressions), "test");
  if (outcome === undefined) throw new Error("the queue is full");
  return outcome;
}

function macrosOf(expressions: readonly string[]): Macro[] {
  return expressions.map((expression, at) => ({ name: `m${at + 1}`, expression }));
}

describe("macros evaluate to their values:", () => {
  test.each([
    ["literals", ["'a'", '"b"', "3", "true", "`t`"], ["a", "b", "3", "true", "t"]],
    ["arithmetic", ["1 + 2 * 3", "7 / 2", "2 ** 10"], ["7", "3.5", "1024"]],
    ["text functions", ["'abc'.toUpperCase()", "'a-b'.split('-').join('+')"], ["ABC", "a+b"]],
    ["dates", ["new Date(0)", "new Date(0).getUTCFullYear()"], ["1970-01-01T00:00:00.000Z", "1970"]],
    ["references to earlier macros, with and without $", ["20", "m1 + 1", "$m2$ + '!'"], ["20", "21", "21!"]],
    ["a comment at the end", ["1 // one"], ["1"]],
  ])("%s", async (_, expressions, values) => {
    expect(await evaluate(...expressions)).toEqual({ kind: "values", values });
  });
});

describe("the interpreter", () => {
  // Evaluated in this process, because the sandbox starts a new process after each failure.
  test.each([
    "1 +",
    "unknown",
    "(() => { throw 1 })()",
    "throw new Error('x')",
    "1) + (2; var x = (1",
    "null",
    "undefined",
    "({})",
    "[1]",
    "0 / 0",
    "() => 1",
    "Symbol()",
    "'x'.repeat(100000)",
    "new Date('x')",
  ])("rejects %j", async (expression) => {
    const macros = macrosOf(["1", expression]);
    expect(await evaluateHere(macros, defaultLimits)).toMatchObject({ kind: "failed", name: "m2" });
  });
});

describe("the sandbox", () => {
  test("rejects what its interpreter rejects", async () => {
    const failing = "(() => { throw new Error('x') })()";
    expect(await evaluate("1", failing)).toEqual({ kind: "failed", name: "m2", reason: "x" });
  });

  const endless = [
    "/(a+)+$/.test('a'.repeat(40) + 'b')",
    "(() => { const a = []; while (true) a.push('x'.repeat(1e6)) })()",
    "(function f() { return f() + 1 })()",
  ];
  const more = ["new Array(1e9).fill(0)", "'x'.repeat(1e9)", "Array.from({ length: 1e8 }, (_, i) => ({ i }))"];
  test.each(isExhaustive ? [...endless, ...more] : endless)(
    "ends %j soon and evaluates the next macro",
    async (expression) => {
      const start = performance.now();
      expect(await evaluateIn(impatient, expression)).toMatchObject({ kind: "failed" });
      expect(performance.now() - start).toBeLessThan(30_000);
      expect(await evaluateIn(impatient, "1")).toEqual({ kind: "values", values: ["1"] });
    },
  );

  // With the limits that the server uses.
  test.each([
    ["too much time", "(() => { while (true) {} })()", "it took too long"],
    ["too much memory", "'x'.repeat(1e9)", "out of memory"],
  ])("says that an expression takes %s", async (_, expression, reason) => {
    expect(await evaluate(expression)).toEqual({ kind: "failed", name: "m1", reason });
    expect(await evaluate("1")).toEqual({ kind: "values", values: ["1"] });
  });

  test("gives macros no access to the host", async () => {
    const names = [
      "process",
      "require",
      "fetch",
      "std",
      "os",
      "console",
      "setTimeout",
      "WebAssembly",
      "Deno",
      "Buffer",
    ];
    const outcome = await evaluate(names.map((name) => `typeof ${name}`).join(" + ','  + "));
    expect(outcome).toEqual({ kind: "values", values: [names.map(() => "undefined").join()] });
    expect(await evaluate("import('node:fs')")).toMatchObject({ kind: "failed" });
    expect(await evaluate("(() => {}).constructor('return typeof process')()")).toEqual({
      kind: "values",
      values: ["undefined"],
    });
  });

  test("keeps no state between evaluations", async () => {
    await evaluate("(globalThis.left = 1)", "(String.prototype.trim = () => 'stolen', 'x'.trim())");
    expect(await evaluate("typeof left", "' x '.trim()")).toEqual({ kind: "values", values: ["undefined", "x"] });
  });
});

test.skipIf(process.platform !== "linux")(
  "a macro is not rejected because its sandbox process was suspended",
  because("only Linux has /proc, which shows the CPU time of a process"),
  async () => {
    const cpuMs = 200;
    const own = macroSandbox({ processes: 1, limits: { cpuMs } });
    const answer = () => own.evaluate([{ name: "a", expression: "1" }], "one");
    try {
      const others = new Set(await sandboxPids());
      await answer();
      const pid = (await sandboxPids()).find((each) => !others.has(each));
      if (pid === undefined) throw new Error("there is no sandbox process");
      process.kill(pid, "SIGSTOP");
      const [waiting, begin] = [answer(), performance.now()];
      await expect.poll(() => performance.now() - begin).toBeGreaterThan(10 * cpuMs);
      process.kill(pid, "SIGCONT");
      expect(await waiting).toEqual({ kind: "values", values: ["1"] });
    } finally {
      own.stop();
    }
  },
);

async function sandboxPids(): Promise<number[]> {
  const ours = (await listProcessLinks()).filter(({ parentPid }) => parentPid === process.pid).map(({ pid }) => pid);
  const sandboxes = (await listProcesses()).filter(({ commandLine }) => commandLine.includes("sandbox-main.ts"));
  return sandboxes.map(({ pid }) => pid).filter((pid) => ours.includes(pid));
}

describe("with many jobs", () => {
  test("one key never occupies the last process", async () => {
    const own = macroSandbox({ processes: 2, limits: { cpuMs: 200 } });
    const done: string[] = [];
    const evaluateFor = async (key: string, expression: string) => {
      await own.evaluate([{ name: "a", expression }], key);
      done.push(key);
    };
    try {
      const slow = Array.from({ length: 2 }, () => evaluateFor("busy", "(() => { for (;;) {} })()"));
      await Promise.all([...slow, evaluateFor("other", "1")]);
      expect(done.indexOf("other")).toBeLessThan(2);
    } finally {
      own.stop();
    }
  });

  test("a key with slow jobs does not make others wait for all of them, and is refused when it has too many", async () => {
    const own = macroSandbox({ processes: 1, waitingByKey: 3, limits: { cpuMs: 200 } });
    try {
      const slow = Array.from({ length: 4 }, () =>
        own.evaluate([{ name: "a", expression: "(() => { for (;;) {} })()" }], "busy"),
      );
      expect(own.evaluate([{ name: "a", expression: "1" }], "busy")).toBeUndefined();
      const done: string[] = [];
      const others = own.evaluate([{ name: "a", expression: "1" }], "other")?.then(() => done.push("other"));
      await Promise.all([...slow.map((each) => each?.then(() => done.push("busy"))), others]);
      expect(done.indexOf("other")).toBeLessThan(3);
    } finally {
      own.stop();
    }
  });
});
