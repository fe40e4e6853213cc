import type { Feature } from "../lib/features.ts";
import type { RoleStatement } from "./permission.ts";

/** Who is calling: one user in one account, as the token says, with what they may do there. */
export interface Caller {
  accountId: number;
  userId: number;
  membershipId: number;
  tokenId: number;
  email: string;
  isOperator: boolean;
  /** The built-in ones; what custom groups give is in the statements of their roles. */
  groups: ReadonlySet<string>;
  statements: readonly RoleStatement[];
  features: ReadonlySet<Feature>;
  address: string;
  requestId: string;
}
