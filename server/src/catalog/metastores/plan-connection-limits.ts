import type { ServerRoom } from "./store/role-connections.ts";

export interface MetastoreRole {
  readonly name: string;
  /** The current limit; -1: no limit. */
  readonly limit: number;
  /** This node uses the role or is about to. */
  readonly isWanted: boolean;
  /** No node has used the role for a while. */
  readonly isIdle: boolean;
}

/**
 * The limit of one role on all nodes together. On each node its metastore uses at most eight and our readers two; a
 * refresh uses two, and an account runs twenty commands at a time. The limit stops a runaway metastore.
 */
export const MAX_PER_ROLE = 48;
/** A metastore and its readers on one node. */
export const MIN_PER_ROLE = 10;
/** For two nodes: each has 22 for its work, and a few for messages, probes and the operator. */
export const FOR_PRODUCT = 56;

/**
 * Plans the connection limit of each role. If PostgreSQL does not reserve all connections that the product needs, the
 * limits together leave the rest of them free. If that is too little for all roles, those that may be in use keep what
 * a metastore needs, even if the server has become too small for that. Wanted roles come next, then idle ones as long
 * as there is room. The others get 0. Even on a server that is too small for the product, one metastore gets what it
 * needs.
 */
export function planConnectionLimits(
  { connections, reserved }: ServerRoom,
  roles: readonly MetastoreRole[],
): Map<string, number> {
  const limits = (served: readonly MetastoreRole[], each: number): Map<string, number> => {
    const names = new Set(served.map(({ name }) => name));
    const limit = Math.min(MAX_PER_ROLE, Math.max(MIN_PER_ROLE, each));
    return new Map(roles.map(({ name }) => [name, names.has(name) ? limit : 0]));
  };
  const lacking = FOR_PRODUCT - reserved;
  if (lacking <= 0) return limits(roles, MAX_PER_ROLE);
  const room = Math.max(MIN_PER_ROLE, connections - lacking);
  const slots = Math.floor(room / MIN_PER_ROLE);
  if (roles.length <= slots) return limits(roles, Math.floor(room / Math.max(1, roles.length)));
  const holders = roles.filter(({ limit, isIdle }) => limit !== 0 && !isIdle);
  const wanted = roles.filter(({ limit, isWanted }) => limit === 0 && isWanted);
  const idle = roles.filter(({ limit, isIdle }) => limit !== 0 && isIdle);
  const served = [...holders, ...wanted, ...idle].slice(0, Math.max(slots, holders.length));
  return limits(served, Math.floor(room / Math.max(1, served.length)));
}
