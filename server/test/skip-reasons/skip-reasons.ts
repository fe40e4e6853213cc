import type { Reporter, TestModule } from "vitest/node";

declare module "vitest" {
  interface TaskMeta {
    leftOutBecause?: string;
  }
}

/** Options for a `describe` or `test` that is skipped on some machines: what those machines lack. */
export function because(reason: string): { meta: { leftOutBecause: string } } {
  return { meta: { leftOutBecause: reason } };
}

export const NO_ISOLATION = "programs cannot be isolated here (no bubblewrap, or no user namespaces)";
export const NO_ROOT = "needs root";
export const NO_EXECUTORS =
  "a test's Spark cluster needs the machine's own Java (Debian: apt-get install openjdk-17-jre-headless)";
export const NO_IPV6 = "this machine has no IPv6";

/** Lists at the end of a run which tests were skipped and why; the default reporter only counts them. */
export class SkipReasons implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const { note } = test.result() as { note?: string };
        const reason = note ?? test.meta().leftOutBecause;
        const line = `${module.relativeModuleId}: ${reason ?? "no reason given"}`;
        counts.set(line, (counts.get(line) ?? 0) + 1);
      }
    }
    for (const [line, count] of counts) process.stdout.write(`Left out ${count} of ${line}\n`);
  }
}
