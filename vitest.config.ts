import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestUserConfig } from "vitest/config";
import { SkipReasons } from "./server/test/skip-reasons/skip-reasons.ts";
import { SparkInTheMiddle } from "./server/test/support/test-order.ts";

// Many tests start servers as processes of their own: they share what Node has compiled.
process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL("node_modules/.cache/tests", import.meta.url));

/** `npm test` runs the project `fast`; `npm run test:full` also what is too long for every run (`*.full.test.ts`). */
const shared = {
  globalSetup: ["server/test/support/global-setup.ts"],
  // Generous: what a test waits for comes late on a busy machine, and a test that passes does not wait longer.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 45_000 } },
  experimental: { viteModuleRunner: false }, // Node reads the files as they are: nothing has to be transformed
  pool: "forks" as const,
  execArgv: ["--max-semi-space-size=64"], // a server and its clients in one process leave much garbage
  isolate: false, // a process of its own for each file would load the whole server again each time
} satisfies TestUserConfig;

export default defineConfig({
  test: {
    reporters: ["default", new SkipReasons()],
    sequence: { sequencer: SparkInTheMiddle },
    projects: [
      {
        test: {
          ...shared,
          name: "fast",
          include: ["server/**/*.test.ts"],
          exclude: ["**/node_modules/**", "**/*.full.test.ts"],
          // Two more than the machine has cores, because many tests wait for processes; PostgreSQL serves six at most.
          maxWorkers: Math.min(availableParallelism() + 2, 6),
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: "full",
          include: ["server/**/*.full.test.ts"],
          testTimeout: 600_000,
          maxWorkers: 2, // many of them start several JVMs
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
