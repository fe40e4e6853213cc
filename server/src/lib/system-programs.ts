import { accessSync, constants, existsSync, readFileSync } from "node:fs";

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The package names for each package manager, separated by spaces. */
export interface PackageNames {
  readonly apt: string;
  readonly dnf: string;
  readonly zypper: string;
  readonly pacman: string;
  readonly apk: string;
  readonly brew: string;
}

const commands: Readonly<Record<keyof PackageNames, string>> = {
  apt: "apt-get install -y",
  dnf: "dnf install -y",
  zypper: "zypper install -y",
  pacman: "pacman -S --noconfirm",
  apk: "apk add",
  brew: "brew install",
};

const managers: Readonly<Record<string, keyof PackageNames>> = {
  debian: "apt",
  ubuntu: "apt",
  fedora: "dnf",
  rhel: "dnf",
  centos: "dnf",
  suse: "zypper",
  opensuse: "zypper",
  arch: "pacman",
  alpine: "apk",
  macos: "brew",
};

/** The command that installs packages on this system; undefined if the system is unknown. */
export function installCommandHere(names: PackageNames): string | undefined {
  if (process.platform === "darwin") return installCommand("ID=macos", false, names);
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  return installCommand(release, process.getuid?.() === 0, names);
}

/** Reads os-release(5): the system's own name first, then the names of similar systems. */
export function installCommand(osRelease: string, asRoot: boolean, names: PackageNames): string | undefined {
  const value = (key: string): string => new RegExp(`^${key}="?([^"\n]*)"?$`, "m").exec(osRelease)?.[1] ?? "";
  const manager = [value("ID"), ...value("ID_LIKE").split(" ")].map((name) => managers[name]).find(Boolean);
  if (manager === undefined) return undefined;
  const line = `${commands[manager]} ${names[manager]}`;
  return asRoot || manager === "brew" ? line : `sudo ${line}`;
}
