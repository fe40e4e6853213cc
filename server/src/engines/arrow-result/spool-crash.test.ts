import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { numberedBatch, NUMBERED_ROWS } from "../../../test/support/numbered-batches.ts";
import { splitStream } from "./ipc-stream.ts";
import { reopenSpool } from "./spool-writer.ts";

const appender = join(import.meta.dirname, "../../../test/support/spool-appender.ts");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-spool-crash-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Kills a writer after `appends` batches. Returns the rows that it had reported as synced. */
async function killedAfter(appends: number, how: "create" | "reopen"): Promise<number> {
  const child = spawn(process.execPath, [appender, folder, how], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let [count, safeRows] = [0, 0];
  for await (const line of createInterface({ input: child.stdout })) {
    safeRows = Number(line);
    count += 1;
    if (count === appends) child.kill("SIGKILL");
  }
  await ended;
  return safeRows;
}

test("a spool whose writer is killed repeatedly is complete up to the last synced batch", async () => {
  for (const [round, appends] of [1, 47, 3, 130, 20].entries()) {
    const safeRows = await killedAfter(appends, round === 0 ? "create" : "reopen");
    const spool = await reopenSpool({ folder, statement: 0 });
    const { rows = 0, position } = spool.lastSynced() ?? {};
    expect(rows).toBeGreaterThanOrEqual(safeRows);
    expect(position).toBe(rows === 0 ? undefined : `position-${rows / NUMBERED_ROWS - 1}`);
    await spool.close();
  }
  const spool = await reopenSpool({ folder, statement: 0 });
  const count = (spool.lastSynced()?.rows ?? 0) / NUMBERED_ROWS;
  expect(count).toBeGreaterThan(100);
  await spool.append(numberedBatch(count));
  const result = await spool.finish([]);
  expect(result?.rows).toBe((count + 1) * NUMBERED_ROWS);
  const { schema } = splitStream(numberedBatch(0).data);
  const expected = [schema, ...Array.from({ length: count + 1 }, (_, i) => splitStream(numberedBatch(i).data).batches)];
  expect(readFileSync(result?.dataFile ?? "").equals(Buffer.concat(expected))).toBe(true);
});
