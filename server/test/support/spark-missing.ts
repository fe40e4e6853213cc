import { inject } from "vitest";

/** Tests that need Spark are skipped if it cannot run. The global set-up determines this once for the whole run. */
export const sparkIsMissing = inject("sparkIsMissing");
