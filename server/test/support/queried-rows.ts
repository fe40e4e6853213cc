import { mkdirSync } from "node:fs";
import { Utf8, vectorFromArray } from "apache-arrow";
import { commandFiles } from "../../src/commands/execution/command-files.ts";
import type { ResultColumn, SpooledResult } from "../../src/engines/arrow-result/spool-result.ts";
import { createSpool, type ReceivedBatch } from "../../src/engines/arrow-result/spool-writer.ts";
import { received, streamOf } from "./arrow-streams.ts";
import type { AccountClient, Given } from "./given.ts";

/**
 * A query that is done, as if it had run on a warm server. Without batches, none of its statements returned columns.
 */
export async function givenQuery(
  given: Given,
  account: AccountClient,
  batches: Iterable<ReceivedBatch> = [],
  columns: readonly ResultColumn[] = [],
): Promise<{ id: number; spool: SpooledResult | undefined }> {
  const { id } = await account.post("/commands", { command_type: "SparkCommand", sql: "select 1" });
  const { folder } = commandFiles(given.dataDir, account.accountId, id).attempt(1);
  mkdirSync(folder, { recursive: true });
  const writer = await createSpool({ folder, statement: 0 });
  for (const batch of batches) await writer.append(batch);
  const spool = await writer.finish(columns);
  await given.app.services.db.system.query(
    `update command set status = 'done', attempt = 1, end_time = now(), result_bytes = $2, log_bytes = 0
     where id = $1`,
    [id, spool?.bytes ?? 0],
  );
  return { id, spool };
}

/** One column of text, a thousand rows per batch. */
export function textRows(rows: readonly string[]): ReceivedBatch[] {
  const batches = Array.from({ length: Math.ceil(rows.length / 1000) }, (_, n) => rows.slice(n * 1000, (n + 1) * 1000));
  return received(
    batches.map((texts) => ({ data: streamOf({ t: vectorFromArray(texts, new Utf8()) }), rows: texts.length })),
  );
}

/** Marks the command for publishing, as at its end. */
export async function publish(given: Given, id: number): Promise<void> {
  await given.app.services.db.system.query(
    `insert into command_publishing (command_id, account_id, attempt, node_id)
     select command.id, account_id, attempt, node.id from command, node where command.id = $1`,
    [id],
  );
}
