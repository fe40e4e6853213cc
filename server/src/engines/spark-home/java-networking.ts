/**
 * Spark sends jars, files and shuffle blocks through Java's own network classes instead of native ones. The native ones
 * need `sendfile`, which the sandbox does not support; Java falls back to read and write.
 */
export const JAVA_NETWORKING = { "spark.io.mode.default": "NIO" } as const;
