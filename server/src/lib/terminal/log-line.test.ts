import { describe, expect, test } from "vitest";
import { createTextLog } from "../log.ts";
import { Terminal } from "./terminal.ts";

/** The output of a text log, without the time. */
function written(say: (log: ReturnType<typeof createTextLog>) => void, hasColours = false): string {
  let text = "";
  const write = (part: string): void => void (text += part);
  const terminal = new Terminal({ isTTY: hasColours, hasColors: () => hasColours, write });
  say(createTextLog("info", terminal, []));
  return text.replaceAll(/^(\u001b\[2m)?\d\d:\d\d:\d\d(\u001b\[22m)?  /gm, ""); // oxlint-disable-line no-control-regex
}

describe("a line of the log for people", () => {
  test("is the message with its fields, not JSON", () => {
    expect(written((log) => log.info({ pid: 7, folder: "/x", none: null }, "took over"))).toBe(
      "took over (pid 7, folder /x)\n",
    );
    expect(written((log) => log.info({ place: { accountId: 1, appId: null } }, "ended"))).toBe("ended (accountId 1)\n");
    expect(written((log) => log.debug("unheard"))).toBe("");
  });

  test("shows the level of warnings and errors", () => {
    expect(written((log) => log.warn("odd"))).toBe("WARNING  odd\n");
    expect(written((log) => log.error("bad"))).toBe("ERROR  bad\n");
  });

  test("shows the causes in order, without repetition", () => {
    const cause = new Error("connect ECONNREFUSED 127.0.0.1:1");
    const err = new Error("the database is down", { cause: new Error("", { cause }) });
    expect(written((log) => log.warn({ err, cluster: 3 }, "a cluster's state change was abandoned"))).toBe(
      "WARNING  a cluster's state change was abandoned (cluster 3): the database is down: Error: connect ECONNREFUSED 127.0.0.1:1\n",
    );
    const twice = new Error("no Java: not found", { cause: new Error("not found") });
    expect(written((log) => log.warn({ err: twice }, "no Spark"))).toBe("WARNING  no Spark: no Java: not found\n");
  });

  test("indents the other lines of an error message", () => {
    const err = new Error("pip said:\nno network\n\n\u001b[31mgiving up\n");
    expect(written((log) => log.error({ err }, "Spark cannot be set up"))).toBe(
      "ERROR  Spark cannot be set up: pip said:\n          no network\n          \\u001b[31mgiving up\n",
    );
  });

  test("shows where in the code a defect happened", () => {
    const lines = written((log) => log.error({ err: new TypeError("x is not a function") }, "request failed"));
    expect(lines).toMatch(/^ERROR {2}request failed: x is not a function\n {10}at .*log-line\.test\.ts\S*:\d+/);
  });

  test("escapes text that users have chosen", () => {
    const evil = "a\u001b[2J\n12:00:00  forged\u009b1m\u202e\u0007";
    const line = written((log) => log.warn({ name: evil, err: new Error(evil.replace("\n", " ")) }, evil));
    expect(line.trimEnd()).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(line).toContain("a\\u001b[2J\\u000a12:00:00");
  });

  test("has colours only if the terminal has colours", () => {
    expect(written((log) => log.warn("odd"), true)).toBe("\u001b[33mWARNING\u001b[39m  odd\n");
  });

  test("accepts any record that pino writes", () => {
    expect(written((log) => log.fatal({ list: ["a", "b"], flag: true }, "over"))).toBe(
      "ERROR  over (list a b, flag true)\n",
    );
  });
});
