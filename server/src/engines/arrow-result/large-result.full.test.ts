import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { numberedBatch, NUMBERED_ROWS } from "../../../test/support/numbered-batches.ts";
import { resultRenderer } from "./result-renderer.ts";
import { findResult } from "./spool-result.ts";
import { createSpool, reopenSpool } from "./spool-writer.ts";

const BATCHES = 3700; // 310 KB each
const MiB = 1024 * 1024;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-large-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The peak growth of the process's memory during `work`. */
async function grownMiB(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  await work();
  clearInterval(timer);
  return (most - before) / MiB;
}

test("a result of more than 1 GiB is spooled, resumed and rendered in bounded memory", async () => {
  const renderer = resultRenderer({ threads: 1 });
  const target = { folder, statement: 0 };
  numberedBatch(7); // fills the cache before the measurement
  try {
    const whileSpooled = await grownMiB(async () => {
      const half = await createSpool(target);
      for (let i = 0; i < BATCHES / 2; i++) await half.append(numberedBatch(i));
      await half.sync();
      await half.close();
      const rest = await reopenSpool(target);
      expect(rest.lastSynced()?.rows).toBe((BATCHES / 2) * NUMBERED_ROWS);
      for (let i = BATCHES / 2; i < BATCHES; i++) await rest.append(numberedBatch(i));
      await rest.finish([]);
    });
    const result = await findResult(folder);
    if (result === undefined) throw new Error("no result");
    expect(result.bytes).toBeGreaterThan(1024 * MiB);
    expect(whileSpooled).toBeLessThan(100);

    let [bytes, lines] = [0, 0];
    const whileRendered = await grownMiB(async () => {
      for await (const piece of renderer.render(result, { format: "text" })) {
        bytes += piece.length;
        lines += piece.at(-1) === 0x0a ? 1 : 0;
      }
    });
    expect(bytes).toBeGreaterThan(1024 * MiB);
    expect(lines).toBeGreaterThan(1000);
    expect(whileRendered).toBeLessThan(200);
    expect(await renderer.renderUnder(20_000_000, result, { format: "text" })).toBeUndefined();

    // A single row costs no more than its batch.
    const [page] = await Array.fromAsync(
      renderer.render(result, { format: "text", fromRow: result.rows - 1, rowLimit: 1 }),
    );
    expect(Buffer.from(page ?? []).toString()).toMatch(/^\d+\t\d+ x+\r\n$/);
  } finally {
    await renderer.stop();
  }
});
