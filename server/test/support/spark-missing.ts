import { inject } from "vitest";

/** Tests that need Spark are skipped where it cannot run. The global set-up has found out, once for the whole run. */
export const sparkIsMissing = inject("sparkIsMissing");
