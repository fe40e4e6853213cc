import type { Feature } from "../lib/features.ts";
import type { RoleStatement } from "./permission.ts";

/** The caller: one user in one account, identified by the token, with their permissions there. */
export interface Caller {
  accountId: number;
  userId: number;
  membershipId: number;
  tokenId: number;
  email: string;
  isOperator: boolean;
  /** Only built-in groups; the permissions of custom groups are in the statements of their roles. */
  groups: ReadonlySet<string>;
  statements: readonly RoleStatement[];
  features: ReadonlySet<Feature>;
  address: string;
  requestId: string;
}
