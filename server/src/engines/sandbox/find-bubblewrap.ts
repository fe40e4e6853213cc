import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { isExecutable } from "../../lib/is-executable.ts";
import type { Identity } from "./confined-program.ts";
import { readSystemFolders } from "./system-folders.ts";

export type BubblewrapSearch =
  | {
      readonly kind: "usable";
      readonly path: string;
      readonly version: string;
      /** The program of that name; undefined when the system has none. */
      readonly setsid: string | undefined;
      readonly disablesNestedNamespaces: boolean;
    }
  /** `reason` is for the operator and ends with what to do. */
  | { readonly kind: "missing" | "too-old" | "blocked"; readonly reason: string };

const run = promisify(execFile);
const searchPath = ["/usr/bin", "/bin", "/usr/local/bin"];

/** Tries it once, as the user that programs will run as: many systems and containers forbid user namespaces. */
export async function findBubblewrap(identity: Identity | undefined): Promise<BubblewrapSearch> {
  const path = searchPath.map((folder) => join(folder, "bwrap")).find(isExecutable);
  if (process.platform !== "linux" || path === undefined) return { kind: "missing", reason: missingReason() };
  const version = parseVersion((await run(path, ["--version"])).stdout);
  if (!isAtLeast(version, 0, 5)) {
    return { kind: "too-old", reason: `bubblewrap ${version} is too old to isolate programs: 0.5 or later is needed` };
  }
  const refusal = await tryOnce(path, identity);
  if (refusal !== undefined) return { kind: "blocked", reason: blockedReason(refusal) };
  return {
    kind: "usable",
    path,
    version,
    setsid: existsSync("/usr/bin/setsid") ? "/usr/bin/setsid" : undefined,
    disablesNestedNamespaces: isAtLeast(version, 0, 8),
  };
}

async function tryOnce(path: string, identity: Identity | undefined): Promise<string | undefined> {
  const namespaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--proc", "/proc"];
  try {
    const options = { cwd: "/", env: {}, timeout: 10_000, ...identity };
    await run(path, [...readSystemFolders(), ...namespaces, "--dev", "/dev", "--", "/bin/true"], options);
    return undefined;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    return said === "" ? String(error) : said;
  }
}

function missingReason(): string {
  if (process.platform !== "linux") return "programs are not isolated: bubblewrap runs on Linux only";
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  return `bubblewrap is not installed: run ${installLine(release, process.getuid?.() === 0)}`;
}

function blockedReason(said: string): string {
  return (
    `bubblewrap does not work here (${said}): let plain users make user namespaces ` +
    "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, " +
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container its seccomp profile)"
  );
}

const installers: Readonly<Record<string, string>> = {
  debian: "apt-get install -y bubblewrap",
  ubuntu: "apt-get install -y bubblewrap",
  fedora: "dnf install -y bubblewrap",
  rhel: "dnf install -y bubblewrap",
  centos: "dnf install -y bubblewrap",
  suse: "zypper install -y bubblewrap",
  opensuse: "zypper install -y bubblewrap",
  arch: "pacman -S --noconfirm bubblewrap",
  alpine: "apk add bubblewrap",
};

/** From os-release(5): the system's own name first, then those it is like. */
export function installLine(osRelease: string, asRoot: boolean): string {
  const value = (key: string): string => new RegExp(`^${key}="?([^"\n]*)"?$`, "m").exec(osRelease)?.[1] ?? "";
  const names = [value("ID"), ...value("ID_LIKE").split(" ")];
  const line = names.map((name) => installers[name]).find((found) => found !== undefined);
  if (line === undefined) return "the package manager of this system to install bubblewrap";
  return asRoot ? line : `sudo ${line}`;
}

export function parseVersion(said: string): string {
  return /\d+(\.\d+)+/.exec(said)?.[0] ?? "0";
}

function isAtLeast(version: string, major: number, minor: number): boolean {
  const [foundMajor = 0, foundMinor = 0] = version.split(".").map(Number);
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}
