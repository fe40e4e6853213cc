import type { Queryable } from "../db/database.ts";

export async function touchLastLogin(system: Queryable, membershipId: number, at: Date): Promise<void> {
  await system.query("update membership set last_login = $2 where id = $1", [membershipId, at]);
}

export async function deleteAuditBefore(system: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await system.query(
    `delete from audit_event where id in (select id from audit_event where at < $1 order by at limit $2) returning 1`,
    [before, limit],
  );
  return rows.length;
}

export async function deleteIdempotencyBefore(system: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await system.query(
    `delete from idempotency where ctid = any (array(
       select ctid from idempotency where created_at < $1 order by created_at limit $2)) returning 1`,
    [before, limit],
  );
  return rows.length;
}

export async function deleteExpiredTokens(system: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await system.query(
    `delete from api_token where id in (select id from api_token where expires_at < $1 limit $2) returning 1`,
    [before, limit],
  );
  return rows.length;
}

export async function deleteInvitationsBefore(system: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await system.query(
    `delete from invitation where id in (select id from invitation where expires_at < $1 limit $2) returning 1`,
    [before, limit],
  );
  return rows.length;
}
