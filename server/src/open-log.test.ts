import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { onTerminal } from "../test/support/pty.ts";

const module = new URL("open-log.ts", import.meta.url).href;
const program = `
  const { openLog } = await import(${JSON.stringify(module)});
  openLog({ logLevel: "info", logFormat: process.argv[1] }).log.warn("odd");
`;

/** The output on the screen, or on stderr if that is not a terminal. */
function logged(output: "terminal" | "pipe", format: string, env: Record<string, string> = {}): string {
  const node = [process.execPath, "--input-type=module", "--eval", program, format];
  const [command = "", ...args] = output === "terminal" ? [...onTerminal(100), ...node] : node;
  const { FORCE_COLOR: _, ...inherited } = process.env;
  const { stdout, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    env: { ...inherited, TERM: "xterm-256color", NO_COLOR: "", ...env },
  });
  return (output === "terminal" ? stdout : stderr).trim();
}

const JSON_LINE = /^\{"level":40,"time":"[^"]+","msg":"odd"\}$/;
const TEXT_LINE = /^\d\d:\d\d:\d\d {2}WARNING {2}odd$/;

test("on a terminal the log is text, in colours", () => {
  expect(logged("terminal", "auto")).toContain("  \u001b[33mWARNING\u001b[39m  odd");
});

test("on a terminal NO_COLOR and TERM=dumb turn the colours off", () => {
  expect(logged("terminal", "auto", { NO_COLOR: "1" })).toMatch(TEXT_LINE);
  expect(logged("terminal", "text", { TERM: "dumb" })).toMatch(TEXT_LINE);
});

test("HEADGATE_LOG_FORMAT=json writes JSON even on a terminal", () => {
  expect(logged("terminal", "json")).toMatch(JSON_LINE);
});

test("elsewhere the log is JSON, or plain text with HEADGATE_LOG_FORMAT=text", () => {
  expect(logged("pipe", "auto")).toMatch(JSON_LINE);
  expect(logged("pipe", "json")).toMatch(JSON_LINE);
  expect(logged("pipe", "text")).toMatch(TEXT_LINE);
});
