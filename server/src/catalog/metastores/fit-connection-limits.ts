import type { Client } from "pg";
import { Fault } from "../../lib/fault.ts";
import type { IdleRoles } from "./idle-roles.ts";
import { ENOUGH_PER_ROLE, FOR_PRODUCT, planConnectionLimits } from "./role-connections.ts";
import {
  endIdleSessionsAboveLimit,
  listRoles,
  readServerRoom,
  setConnectionLimit,
  withLimitsLocked,
} from "./store/role-connections.ts";

export interface RolesToFit {
  readonly prefix: string;
  /** The roles that this node uses. They count as used without a session, because metastores close idle ones. */
  readonly inUse: readonly string[];
  /** A role that is about to be used. It is refused if there is no room for it. */
  readonly wanted: string | undefined;
  readonly idleRoles: IdleRoles;
}

/** Sets the connection limit of each metastore's role so that the product keeps the connections it needs. */
export async function fitConnectionLimits(client: Client, fit: RolesToFit): Promise<void> {
  await withLimitsLocked(client, fit.prefix, () => fitLocked(client, fit));
}

async function fitLocked(client: Client, { prefix, inUse, wanted, idleRoles }: RolesToFit): Promise<void> {
  const roles = await listRoles(client, prefix);
  const needed = new Set(wanted === undefined ? inUse : [...inUse, wanted]);
  const idle = idleRoles.observe(roles, needed);
  const limits = planConnectionLimits(
    await readServerRoom(client),
    roles.map(({ name, limit }) => ({
      name,
      limit,
      isWanted: needed.has(name),
      isIdle: idle.has(name),
    })),
  );
  const changes = roles.flatMap(({ name, limit }) => {
    const planned = limits.get(name) ?? 0;
    return limit === planned ? [] : { name, planned, isLower: limit < 0 || planned < limit };
  });
  // Lower limits come first, so that the sum never exceeds the room.
  for (const { name, planned } of changes.toSorted((one, other) => Number(other.isLower) - Number(one.isLower))) {
    await setConnectionLimit(client, name, planned);
    if (planned === 0) idleRoles.forget(name);
  }
  if (changes.some(({ isLower }) => isLower)) await endIdleSessionsAboveLimit(client, prefix);
  if (wanted !== undefined && limits.get(wanted) === 0) throw noRoom();
}

function noRoom(): Fault {
  return new Fault(
    "unavailable",
    `PostgreSQL has too few connections for the catalog of tables of another account: each one in use needs ` +
      `${ENOUGH_PER_ROLE}, and ${FOR_PRODUCT} are for Headgate itself. Raise max_connections of PostgreSQL by at least ` +
      `${ENOUGH_PER_ROLE} for each further account, or reserve connections for Headgate (docs/operations.md). Otherwise ` +
      `try again when other accounts have stopped using Spark for some 20 minutes.`,
  );
}
