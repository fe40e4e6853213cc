import { runTool } from "./run-tool.ts";

/**
 * When we are root, programs run as other users. A tool that they cannot run, such as one below a 0700 home, is not
 * used.
 */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const asOthers = isRoot ? { uid: nobody, gid: nobody } : {};
const asking = { cwd: "/", timeoutMs: 20_000 };

/**
 * Runs a program and parses its output. Undefined: it is missing, cannot be run, fails, or `parse` rejects its output.
 */
export async function answerOf<T>(
  argv: readonly string[],
  parse: (said: string) => T | undefined,
): Promise<T | undefined> {
  try {
    const { exitCode, said } = await runTool(argv, asking);
    return exitCode === 0 ? parse(said) : undefined;
  } catch {
    return undefined;
  }
}

export async function othersMayRun(argv: readonly string[]): Promise<boolean> {
  const env = { PATH: "/usr/bin:/bin" };
  return runTool(argv, { ...asking, ...asOthers, env }).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  );
}

/** Part of a message that says what is missing. */
export const forOthers = isRoot ? ", and as root one that other users can run (not below a closed home)" : "";
