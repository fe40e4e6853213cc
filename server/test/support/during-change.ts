import { expect } from "vitest";
import type { Call, Reply } from "./client.ts";
import type { Given } from "./given.ts";

/**
 * The reply to a request whose objects change between its `find` and its transaction. The statements hold their locks
 * until the request waits for one of them, and are then committed.
 */
export async function replyDuring(
  given: Given,
  statements: readonly (readonly [text: string, values: readonly unknown[]])[],
  call: Call,
): Promise<Reply> {
  const { db } = given.app.services;
  const isWaiting = async (): Promise<boolean> => {
    const text = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return (await db.system.query(text)).length > 0;
  };
  const { reply } = await db.asSystem(async (tx) => {
    for (const [text, values] of statements) await tx.query(text, values);
    const sent = call.reply();
    await expect.poll(isWaiting, { timeout: 10_000, interval: 10 }).toBe(true);
    return { reply: sent };
  });
  return reply;
}
