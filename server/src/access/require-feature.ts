import { invalid } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import type { Caller } from "./caller.ts";

/** Using a feature that is off is refused with the command that turns it on (decisions §2). */
export function requireFeature(caller: Pick<Caller, "accountId" | "features">, feature: Feature, field: string): void {
  if (caller.features.has(feature)) return;
  throw invalid(
    field,
    `needs the feature ${feature}, which is off for this account. ` +
      `An operator turns it on: npm run admin -- feature-set ${caller.accountId} ${feature} on`,
  );
}
