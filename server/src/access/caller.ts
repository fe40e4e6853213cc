import type { Feature } from "../lib/features.ts";
import { invalid } from "../lib/fault.ts";
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

/** Refuses the use of a disabled feature and shows the command that enables it (decisions §2). */
export function requireFeature(caller: Pick<Caller, "accountId" | "features">, feature: Feature, field: string): void {
  if (caller.features.has(feature)) return;
  const cure = `An operator can enable it: npm run admin -- feature-set ${caller.accountId} ${feature} on`;
  throw invalid(field, `needs the feature ${feature}, which is disabled for this account. ${cure}`);
}
