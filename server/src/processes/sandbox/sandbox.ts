/**
 * Isolation of users' programs. A sandbox turns a program into the command line that runs it confined; it starts
 * nothing itself. With bubblewrap the program sees only the system's programs and its own folders: no other process, no
 * file of the server, nothing of the server's environment. The network is shared. If the server is root, the program
 * also has a real uid of its own. Without bubblewrap (`none`) only uid and limits apply, so the programs must be
 * trusted.
 *
 * The confined program ends with the process that started bubblewrap, for whatever reason that one ends. A death by a
 * signal shows as exit code 128 + signal, because bubblewrap does not pass the signal on.
 */
import { release } from "node:os";
import { Fault } from "../../lib/fault.ts";
import { renderBubblewrapArguments, renderHiding, readSystemFolders } from "./bubblewrap-arguments.ts";
import type { ConfinedProgram, ProgramToConfine } from "./confined-program.ts";
import type { BubblewrapSearch } from "./find-bubblewrap.ts";

export type Isolation = "auto" | "bubblewrap" | "none";

export interface Sandbox {
  readonly kind: "bubblewrap" | "none";
  /** Why bubblewrap is not used and what to do about it; undefined if it is used, or `none` was configured. */
  readonly warning: string | undefined;
  confine(program: ProgramToConfine): ConfinedProgram;
}

/**
 * `hidden`: existing files and folders that programs must not see. `filterFile`: from `writeSystemCallFilter`; absent:
 * programs may use all system calls.
 */
export function openSandbox(
  isolation: Isolation,
  found: BubblewrapSearch,
  ownUid = process.getuid?.() ?? 0,
  hidden: readonly string[] = [],
  filterFile?: string,
): Sandbox {
  if (isolation === "none") return { kind: "none", warning: undefined, confine: runUnconfined };
  if (found.kind === "usable") {
    // As root, owner and mode of the hidden paths already keep other users out.
    const { cover, seal } = renderHiding(ownUid === 0 ? [] : hidden);
    const machine = { before: [...readSystemFolders(), ...cover], after: seal, ownUid, filterFile };
    const confine = (program: ProgramToConfine): ConfinedProgram => confineWithBubblewrap(program, found, machine);
    return { kind: "bubblewrap", warning: undefined, confine };
  }
  if (isolation === "bubblewrap") throw new Fault("invalid", found.reason);
  return { kind: "none", warning: found.reason, confine: runUnconfined };
}

/** Never the program's own environment: a variable like LD_PRELOAD would affect bubblewrap itself. */
const wrapperEnvironment = { PATH: "/usr/bin:/bin", LC_ALL: "C" };

/** Options common to all programs: mounts before and after the program's own. */
interface Machine {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly ownUid: number;
  readonly filterFile: string | undefined;
}

function confineWithBubblewrap(
  program: ProgramToConfine,
  { path, setsid, disablesNestedNamespaces, sizesMemory }: Extract<BubblewrapSearch, { kind: "usable" }>,
  { before, after, ownUid, filterFile }: Machine,
): ConfinedProgram {
  checkNames(program.env);
  if (ownUid === 0 && program.identity === undefined) {
    // `--uid` only changes the uid inside the sandbox; outside, the program would still be root.
    throw new Fault("internal", "a program needs a uid of its own when the server runs as root");
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
  // bubblewrap's --new-session would move its first process out of the session that the runner has to end. Therefore the
  // program creates its own session one step later.
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

function runUnconfined(program: ProgramToConfine): ConfinedProgram {
  checkNames(program.env);
  const { env, cwd, identity } = program;
  return { argv: withLimits(program, program.argv), env, cwd, identity, descriptor3: undefined };
}

const limitsScript =
  'ulimit -c 0; ulimit -n "$1" 2>/dev/null || ulimit -n "$(ulimit -H -n)" 2>/dev/null; ' +
  '[ -z "$2" ] || exec 5<"$2"; shift 2; exec "$@"';

/** `descriptor5`: a file that bubblewrap reads. */
function withLimits({ openFiles = 65_536 }: ProgramToConfine, argv: readonly string[], descriptor5 = ""): string[] {
  return ["/bin/sh", "-c", limitsScript, "limits", String(openFiles), descriptor5, ...argv];
}

/** The option is -p in dash and busybox, -u in bash. */
const taskLimitScript = '{ ulimit -u "$1" || ulimit -p "$1"; } 2>/dev/null; shift; exec "$@"';

/**
 * Set inside the user namespace, whose processes the kernel counts separately, so that other processes of the same uid
 * do not matter. Before Linux 5.14 the kernel counts them together, so only the runner enforces the limit.
 */
function withTaskLimit({ tasks = null }: ProgramToConfine, argv: readonly string[]): readonly string[] {
  if (tasks === null || !countsTasksByNamespace()) return argv;
  return ["/bin/sh", "-c", taskLimitScript, "limits", String(tasks), ...argv];
}

export function countsTasksByNamespace(kernel = release()): boolean {
  const [major = 0, minor = 0] = kernel.split(".").map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 14);
}

/** A shell may drop variables with other names, so they are refused. */
function checkNames(env: Readonly<Record<string, string>>): void {
  const wrong = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined) {
    const rule = "use letters, digits and _, and begin with no digit";
    throw new Fault("invalid", `${JSON.stringify(wrong)} is not a valid name of an environment variable: ${rule}`);
  }
  const broken = Object.entries(env).find(([, value]) => value.includes("\0"));
  if (broken !== undefined) throw new Fault("invalid", `the environment variable ${broken[0]} contains a NUL`);
}
