import type { Database } from "../db/database.ts";
import { DAY_MS, type Clock } from "../lib/clock.ts";
import { deleteAuditBefore, deleteExpiredTokens, deleteIdempotencyBefore } from "./store.ts";

export interface Retention {
  auditDays: number;
  idempotencyHours: number;
}

const HOUR_MS = 3_600_000;
const BATCH = 1000;

export async function pruneExpired(
  db: Database,
  clock: Clock,
  { auditDays, idempotencyHours }: Retention,
): Promise<void> {
  const now = clock.now().getTime();
  await inBatches((limit) => deleteAuditBefore(db.system, new Date(now - auditDays * DAY_MS), limit));
  await inBatches((limit) => deleteIdempotencyBefore(db.system, new Date(now - idempotencyHours * HOUR_MS), limit));
  await inBatches((limit) => deleteExpiredTokens(db.system, new Date(now), limit));
}

/** Small batches, so that no delete holds locks for long or writes too much at once. */
export async function inBatches(deleteSome: (limit: number) => Promise<number>): Promise<void> {
  while ((await deleteSome(BATCH)) === BATCH);
}
