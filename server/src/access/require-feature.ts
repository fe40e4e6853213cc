import { invalid } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import type { Caller } from "./caller.ts";

/** Refuses the use of a disabled feature and shows the command that enables it (decisions §2). */
export function requireFeature(caller: Pick<Caller, "accountId" | "features">, feature: Feature, field: string): void {
  if (caller.features.has(feature)) return;
  throw invalid(
    field,
    `needs the feature ${feature}, which is disabled for this account. ` +
      `An operator can enable it: npm run admin -- feature-set ${caller.accountId} ${feature} on`,
  );
}
