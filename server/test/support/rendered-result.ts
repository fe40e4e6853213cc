import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { openRendering, type RenderOptions } from "../../src/engines/arrow-result/rendering.ts";
import type { ResultColumn, SpooledResult } from "../../src/engines/arrow-result/spool-result.ts";
import { createSpool, type ReceivedBatch } from "../../src/engines/arrow-result/spool-writer.ts";
import { appendAll } from "./arrow-streams.ts";

/** Spools and renders in the same thread. */
export function useRendered() {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "headgate-rendered-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function spooled(batches: readonly ReceivedBatch[], columns: readonly ResultColumn[] = []) {
    const spool = await createSpool({ folder: mkdtempSync(join(folder, "result-")), statement: 0 });
    await appendAll(spool, batches);
    const result = await spool.finish(columns);
    if (result === undefined) throw new Error("the result has no columns");
    return result;
  }

  const rendered = async (
    batches: readonly ReceivedBatch[],
    columns: readonly ResultColumn[],
    options: RenderOptions,
    encoding: BufferEncoding = "utf8",
  ): Promise<string> => bytesOf(await spooled(batches, columns), options).toString(encoding);

  return { spooled, rendered };
}

export function bytesOf(result: SpooledResult, options: RenderOptions): Buffer {
  const rendering = openRendering(result, options);
  try {
    const parts: Uint8Array[] = [];
    for (let isLast = false; !isLast;) {
      const chunk = rendering.next();
      parts.push(chunk.bytes);
      isLast = chunk.isLast;
    }
    return Buffer.concat(parts);
  } finally {
    rendering.close();
  }
}
