import type { Queryable } from "../db/database.ts";

export async function touchLastLogin(system: Queryable, membershipId: number, at: Date): Promise<void> {
  await system.query("update membership set last_login = $2 where id = $1", [membershipId, at]);
}
