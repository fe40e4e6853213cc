import { runTool } from "./run-tool.ts";

/** As root programs run under other users: what they cannot run (below a 0700 home) is not taken. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const asOthers = isRoot ? { uid: nobody, gid: nobody } : {};
const asking = { cwd: "/", timeoutMs: 20_000 };

/** Undefined: it is not there, cannot be run, fails, or says what `parse` does not take. */
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

/** For a message that says what is missing. */
export const forOthers = isRoot ? ", and as root one that other users can run (not below a closed home)" : "";
