import { describe, expect, test } from "vitest";
import { Screen } from "./support/screen.ts";
import { stepLine, Terminal } from "../src/lib/terminal/terminal.ts";

function open(columns = 80) {
  const screen = new Screen();
  let now = 0;
  const stream = { isTTY: true, columns, hasColors: () => false, write: (text: string) => screen.write(text) };
  return { screen, stream, terminal: new Terminal(stream, () => now), pass: (ms: number) => (now += ms) };
}

describe("the progress line", () => {
  test("is redrawn on its own line, below all other output", () => {
    const { screen, terminal } = open();
    terminal.writeLine("first");
    terminal.showProgress({ text: "Downloading Spark, 400 MB", percent: 10 });
    terminal.showProgress({ text: "Downloading Spark, 400 MB", percent: 50 });
    terminal.writeLine("second");
    terminal.aside(() => screen.write("said on stdout\n"));
    expect(screen.lines).toEqual([
      "first",
      "second",
      "said on stdout",
      "Downloading Spark, 400 MB [###############---------------] 50 % 0:00",
    ]);
    terminal.showProgress({ text: "Unpacking" });
    expect(screen.lines.at(-1)).toBe("Unpacking 0:00");
    terminal.showProgress(undefined);
    terminal.writeLine("third");
    expect(screen.lines).toEqual(["first", "second", "said on stdout", "third"]);
  });

  test("shows the bytes, which grow where a percent takes long", () => {
    const step = { text: "Downloading Spark", percent: 30, bytes: 136_680_000 };
    expect(stepLine(step, 42, 70)).toBe("Downloading Spark [#########---------------------] 30 % 136.7 MB 0:42");
    expect(stepLine({ text: "Unpacking", bytes: 1_204_900_000 }, 5, 70)).toBe("Unpacking 1204.9 MB 0:05");
  });

  test("shows the time since the first step", () => {
    const { screen, terminal, pass } = open();
    terminal.showProgress({ text: "One" });
    pass(65_000);
    terminal.showProgress({ text: "Two" });
    expect(screen.lines).toEqual(["Two 1:05"]);
    terminal.showProgress(undefined);
    terminal.showProgress({ text: "Again" });
    expect(screen.lines).toEqual(["Again 0:00"]);
    terminal.showProgress(undefined);
  });

  test("never wraps: with few columns its bar is narrow or omitted, and with fewer the text is truncated", () => {
    const step = { text: "Downloading Spark", percent: 50 };
    expect(stepLine(step, 5, 60)).toBe("Downloading Spark [###############---------------] 50 % 0:05");
    expect(stepLine(step, 5, 40)).toBe("Downloading Spark [#####-----] 50 % 0:05");
    expect(stepLine(step, 5, 37)).toBe("Downloading Spark 50 % 0:05");
    expect(stepLine(step, 5, 10)).toBe("Downloadin");
    const { screen, terminal } = open(11);
    terminal.showProgress(step);
    expect(screen.lines).toEqual(["Downloadin"]);
    terminal.showProgress(undefined);
  });

  test("is not shown if the stream is not a terminal", () => {
    const { screen, stream } = open();
    const plain = new Terminal({ ...stream, isTTY: false });
    plain.showProgress({ text: "One", percent: 1 });
    plain.writeLine("a line");
    expect(screen.written).toBe("a line\n");
  });
});
