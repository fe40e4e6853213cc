import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeAll } from "./write-all.ts";

test("a full pipe gets the whole text, with a pause before each further try", () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-pipe-"));
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => {
    closeSync(pipe);
    rmSync(folder, { recursive: true });
  });
  const text = "0123456789".repeat(100_000); // more than a pipe holds
  let read = "";
  const drain = (): void => {
    const bytes = Buffer.alloc(text.length);
    read += bytes.toString("latin1", 0, readSync(pipe, bytes));
  };
  writeAll(pipe, text, drain); // only the pauses empty the pipe
  drain();
  expect(read === text).toBe(true);
});
