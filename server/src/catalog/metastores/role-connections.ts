/** The connections of the server, and how many of them the product is sure of. */
export interface ServerRoom {
  /** Connections that are not reserved for superusers or for roles with that right. */
  readonly connections: number;
  /** Those that the product's user may take and metastores may not. */
  readonly reserved: number;
}

export interface MetastoreRole {
  readonly name: string;
  /** Something of the account is connected, or may connect at any moment. */
  readonly isInUse: boolean;
}

/**
 * The cap of one role on all nodes. On each node its metastore has at most eight and our readers two; a refresh that
 * writes has two, and an account runs twenty commands at a time. The cap stops a runaway metastore.
 */
export const MOST_PER_ROLE = 48;
/** A metastore and its readers on one node. */
export const ENOUGH_PER_ROLE = 10;
/** For two nodes: each has 22 for its work, and a few for messages, probes and the operator. */
const FOR_PRODUCT = 56;

/**
 * The connection limit of each role. PostgreSQL itself may reserve all that the product needs; otherwise the limits
 * together leave free what is not reserved. Where that is too little for all roles, half of it is spread over all of
 * them and the other half over those in use. A server that is too small even for the product lets one metastore work.
 */
export function planConnectionLimits(
  { connections, reserved }: ServerRoom,
  roles: readonly MetastoreRole[],
): Map<string, number> {
  const limits = (limitOf: (role: MetastoreRole) => number): Map<string, number> =>
    new Map(roles.map((role) => [role.name, Math.min(MOST_PER_ROLE, limitOf(role))]));
  const lacking = FOR_PRODUCT - reserved;
  if (lacking <= 0) return limits(() => MOST_PER_ROLE);
  const room = Math.max(ENOUGH_PER_ROLE, connections - lacking);
  const each = Math.floor(room / Math.max(1, roles.length));
  if (each >= ENOUGH_PER_ROLE) return limits(() => each);
  const idleLimit = Math.floor(room / 2 / roles.length);
  const inUse = roles.filter(({ isInUse }) => isInUse).length;
  const more = Math.floor((room - idleLimit * roles.length) / Math.max(1, inUse));
  return limits(({ isInUse }) => idleLimit + (isInUse ? more : 0));
}
