/**
 * Isolation of programs that are not ours. A sandbox turns a program into the command line that runs it confined; it
 * starts nothing itself. With bubblewrap the program sees the system's programs, the folders it is given and nothing
 * else: no other process, no file of ours, none of our environment; the network is shared. As root it also runs under
 * the real uid it is given. Without bubblewrap (`none`) only uid and limits hold: whoever asks for that trusts the
 * programs.
 *
 * The confined program ends with the process that started bubblewrap, whatever ends that one. Killed by a signal it
 * shows as exit code 128 + signal: bubblewrap does not pass the signal on.
 */
import { release } from "node:os";
import { Fault } from "../../lib/fault.ts";
import { renderBubblewrapArguments } from "./bubblewrap-arguments.ts";
import type { ConfinedProgram, ProgramToConfine } from "./confined-program.ts";
import type { BubblewrapSearch } from "./find-bubblewrap.ts";
import { renderHiding } from "./hidden-paths.ts";
import { readSystemFolders } from "./system-folders.ts";

export type Isolation = "auto" | "bubblewrap" | "none";

export interface Sandbox {
  readonly kind: "bubblewrap" | "none";
  /** Why it is not bubblewrap and what to do about it; undefined when it is, or when `none` was asked for. */
  readonly warning: string | undefined;
  confine(program: ProgramToConfine): ConfinedProgram;
}

/**
 * `hidden`: what is ours alone, wherever an operator has put it; it has to be there already. `filterFile`: by
 * `writeSystemCallFilter`; absent: all system calls are left to the programs.
 */
export function openSandbox(
  isolation: Isolation,
  found: BubblewrapSearch,
  ownUid = process.getuid?.() ?? 0,
  hidden: readonly string[] = [],
  filterFile?: string,
): Sandbox {
  if (isolation === "none") return { kind: "none", warning: undefined, confine: runPlainly };
  if (found.kind === "usable") {
    // As root the owner and mode of what is ours keep programs out, and their user may not even get near it.
    const { cover, seal } = renderHiding(ownUid === 0 ? [] : hidden);
    const machine = { before: [...readSystemFolders(), ...cover], after: seal, ownUid, filterFile };
    const confine = (program: ProgramToConfine): ConfinedProgram => confineByBubblewrap(program, found, machine);
    return { kind: "bubblewrap", warning: undefined, confine };
  }
  if (isolation === "bubblewrap") throw new Fault("invalid", found.reason);
  return { kind: "none", warning: found.reason, confine: runPlainly };
}

/** Never the program's own: a variable like LD_PRELOAD would act outside of the sandbox, on bubblewrap itself. */
const wrapperEnvironment = { PATH: "/usr/bin:/bin", LC_ALL: "C" };

/** Options that are the same for all programs: mounts before and after their own. */
interface Machine {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly ownUid: number;
  readonly filterFile: string | undefined;
}

function confineByBubblewrap(
  program: ProgramToConfine,
  { path, setsid, disablesNestedNamespaces, sizesMemory }: Extract<BubblewrapSearch, { kind: "usable" }>,
  { before, after, ownUid, filterFile }: Machine,
): ConfinedProgram {
  checkNames(program.env);
  if (ownUid === 0 && program.identity === undefined) {
    // `--uid` alone is a name inside of the sandbox: outside of it all would be done as root.
    throw new Fault("internal", "as root a program needs a uid of its own");
  }
  const uid = program.identity?.uid ?? ownUid;
  const options = [
    ...before,
    ...renderBubblewrapArguments(program, { uid, gid: program.identity?.gid ?? uid }, sizesMemory),
    ...after,
    ...(disablesNestedNamespaces ? ["--disable-userns"] : []),
    ...(setsid === undefined ? ["--new-session"] : []),
    ...(filterFile === undefined ? [] : ["--seccomp", "5"]),
  ];
  // bubblewrap's own --new-session would take its first process out of the session it was started in, and whoever has
  // to end all of that session would not find it. The program gets its session a step later.
  const session = setsid === undefined ? program.argv : [setsid, ...program.argv];
  const inner = withTaskLimit(program, session);
  return {
    argv: withLimits(program, [path, "--args", "3", "--", ...inner], filterFile),
    env: wrapperEnvironment,
    cwd: "/",
    identity: program.identity,
    descriptor3: options.map((option) => `${option}\0`).join(""),
  };
}

function runPlainly(program: ProgramToConfine): ConfinedProgram {
  checkNames(program.env);
  const { env, cwd, identity } = program;
  return { argv: withLimits(program, program.argv), env, cwd, identity, descriptor3: undefined };
}

const limitsScript =
  'ulimit -c 0; ulimit -n "$1" 2>/dev/null || ulimit -n "$(ulimit -H -n)" 2>/dev/null; ' +
  '[ -z "$2" ] || exec 5<"$2"; shift 2; exec "$@"';

/** `descriptor5`: a file for bubblewrap. */
function withLimits({ openFiles = 65_536 }: ProgramToConfine, argv: readonly string[], descriptor5 = ""): string[] {
  return ["/bin/sh", "-c", limitsScript, "limits", String(openFiles), descriptor5, ...argv];
}

/** dash and busybox call it -p, bash -u. */
const taskLimitScript = '{ ulimit -u "$1" || ulimit -p "$1"; } 2>/dev/null; shift; exec "$@"';

/**
 * Set inside of the user namespace, whose processes the kernel counts apart: so the limit is the program's own, whoever
 * else runs under the same uid. Before Linux 5.14 the kernel counts all of them together, and only the runner counts.
 */
function withTaskLimit({ tasks = null }: ProgramToConfine, argv: readonly string[]): readonly string[] {
  if (tasks === null || !countsTasksByNamespace()) return argv;
  return ["/bin/sh", "-c", taskLimitScript, "limits", String(tasks), ...argv];
}

export function countsTasksByNamespace(kernel = release()): boolean {
  const [major = 0, minor = 0] = kernel.split(".").map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 14);
}

/** Other names are lost on the way through a shell; all of them may be kept or none. */
function checkNames(env: Readonly<Record<string, string>>): void {
  const wrong = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined) throw new Fault("invalid", `${JSON.stringify(wrong)} is no name of an environment variable`);
  const broken = Object.entries(env).find(([, value]) => value.includes("\0"));
  if (broken !== undefined) throw new Fault("invalid", `the environment variable ${broken[0]} holds a NUL`);
}
