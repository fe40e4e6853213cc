import { runTool } from "./run-tool.ts";

/**
 * If the server is root, programs run as other users. A tool that these cannot run, such as one in a 0700 home, is not
 * used.
 */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const asOtherUser = isRoot ? { uid: nobody, gid: nobody } : {};
const probeOptions = { cwd: "/", timeoutMs: 20_000 };

/**
 * Runs a program and parses its output. Undefined: it is missing, cannot be run, fails, or `parse` rejects its output.
 */
export async function probeTool<T>(
  argv: readonly string[],
  parse: (output: string) => T | undefined,
): Promise<T | undefined> {
  try {
    const { exitCode, output } = await runTool(argv, probeOptions);
    return exitCode === 0 ? parse(output) : undefined;
  } catch {
    return undefined;
  }
}

export async function otherUsersCanRun(argv: readonly string[]): Promise<boolean> {
  const env = { PATH: "/usr/bin:/bin" };
  return runTool(argv, { ...probeOptions, ...asOtherUser, env }).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  );
}

/** Part of a message that says what is missing. */
export const otherUsersHint = isRoot ? ", which other users can run too (not in a private home folder)" : "";
