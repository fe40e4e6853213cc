import type { Client } from "pg";
import { planConnectionLimits } from "./role-connections.ts";
import {
  endSessionsAboveLimit,
  listRoles,
  readServerRoom,
  setConnectionLimit,
  withLimitsLocked,
} from "./store/role-connections.ts";

/**
 * Gives each metastore's role as many connections as leave the product its own. `inUse` names roles that count as in use
 * although none of their sessions may be open: metastores close idle connections.
 */
export function fitConnectionLimits(client: Client, prefix: string, inUse: ReadonlySet<string>): Promise<void> {
  return withLimitsLocked(client, prefix, () => fitLocked(client, prefix, inUse));
}

async function fitLocked(client: Client, prefix: string, inUse: ReadonlySet<string>): Promise<void> {
  const roles = await listRoles(client, prefix);
  const limits = planConnectionLimits(
    await readServerRoom(client),
    roles.map(({ name, sessions }) => ({ name, isInUse: sessions > 0 || inUse.has(name) })),
  );
  const changes = roles.flatMap(({ name, limit }) => {
    const planned = limits.get(name) ?? 0;
    return limit === planned ? [] : { name, planned, isLower: limit < 0 || planned < limit };
  });
  // Lower limits come first, so that the sum never exceeds the room.
  for (const { name, planned } of changes.toSorted((one, other) => Number(other.isLower) - Number(one.isLower))) {
    await setConnectionLimit(client, name, planned);
  }
  if (changes.some(({ isLower }) => isLower)) await endSessionsAboveLimit(client, prefix);
}
