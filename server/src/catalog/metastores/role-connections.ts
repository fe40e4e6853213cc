/** What the server has, and how much of it the product is sure of. */
export interface ServerRoom {
  /** Connections that are not reserved for superusers or for roles with that right. */
  readonly connections: number;
  /** Whether some are reserved for the product's user. */
  readonly isReserved: boolean;
  /** The roles of metastores, the one that is about to be made included. */
  readonly roles: number;
}

/**
 * The cap of one role on all nodes. On each node its metastore has at most eight and our readers two; a refresh that
 * writes has two, and an account runs twenty commands at a time. The cap stops a runaway metastore.
 */
export const MOST_PER_ROLE = 48;
/** A metastore and its readers on one node. */
const LEAST_PER_ROLE = 10;
/** For two nodes: each has 22 for its work, and a few for messages, probes and the operator. */
const FOR_PRODUCT = 56;

/** So many that all metastores together leave room for the product, unless PostgreSQL itself reserves some for it. */
export function connectionsPerRole({ connections, isReserved, roles }: ServerRoom): number {
  if (isReserved) return MOST_PER_ROLE;
  const share = Math.floor((connections - FOR_PRODUCT) / Math.max(1, roles));
  return Math.min(MOST_PER_ROLE, Math.max(LEAST_PER_ROLE, share));
}
