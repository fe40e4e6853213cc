import type { Client } from "pg";
import { Fault } from "../../lib/fault.ts";
import { MIN_PER_ROLE, FOR_PRODUCT, planConnectionLimits } from "./plan-connection-limits.ts";
import {
  endIdleSessionsAboveLimit,
  listRoles,
  readServerRoom,
  setConnectionLimit,
  withLimitsLocked,
  type LimitedRole,
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
    `PostgreSQL has too few connections for the table catalog of another account: each catalog in use needs ` +
      `${MIN_PER_ROLE}, and ${FOR_PRODUCT} are for Headgate itself. Raise max_connections of PostgreSQL by at least ` +
      `${MIN_PER_ROLE} for each further account, or reserve connections for Headgate (docs/operations.md). Otherwise ` +
      `try again when other accounts have stopped using Spark for some 20 minutes.`,
  );
}

/**
 * The time that an unused metastore keeps running: until then, a metastore on another node that has closed its idle
 * sessions may open them again.
 */
export const ROLE_IDLE_MS = 10 * 60_000;

interface IdlePeriod {
  readonly since: number;
  readonly established: number;
}

/** Finds the roles that no node uses any more: those without a session for some minutes. */
export class IdleRoles {
  readonly #now: () => number;
  #idle = new Map<string, IdlePeriod>();

  constructor(now: () => number) {
    this.#now = now;
  }

  observe(roles: readonly LimitedRole[], wanted: ReadonlySet<string>): Set<string> {
    const now = this.#now();
    const before = this.#idle;
    this.#idle = new Map(
      roles
        .filter(({ name, limit, sessions }) => limit !== 0 && sessions === 0 && !wanted.has(name))
        .map(({ name, established }) => {
          const period = before.get(name);
          return [name, period?.established === established ? period : { since: now, established }];
        }),
    );
    return new Set([...this.#idle].flatMap(([name, { since }]) => (now - since >= ROLE_IDLE_MS ? name : [])));
  }

  /** For a role that lost its connections. If another node gives it new ones, its idle period starts again. */
  forget(name: string): void {
    this.#idle.delete(name);
  }
}
