import { inBatches } from "../access/retention.ts";
import type { Database } from "../db/database.ts";
import { DAY_MS, type Clock } from "../lib/clock.ts";
import { deleteInvitationsBefore } from "./store/invitations.ts";

const ENDED_INVITATION_DAYS = 30;

export async function pruneInvitations(db: Database, clock: Clock): Promise<void> {
  const before = new Date(clock.now().getTime() - ENDED_INVITATION_DAYS * DAY_MS);
  await inBatches((limit) => deleteInvitationsBefore(db.system, before, limit));
}
