import { inject } from "vitest";

/** Tests that need Spark are skipped if it cannot run. The global set-up determines this once for the whole run. */
export const sparkIsMissing = inject("sparkIsMissing");

/**
 * Spark starts executors with a module that the fetched Java lacks. Users' clusters have their own Java; those of the
 * tests use the Java of this machine.
 */
export const executorsAreMissing = sparkIsMissing || inject("javaIsMissing");
