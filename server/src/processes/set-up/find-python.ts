import { Fault } from "../../lib/fault.ts";
import { installCommandHere } from "../../lib/system-programs.ts";
import { probeTool, otherUsersCanRun } from "./run-tool.ts";

export interface Python {
  readonly path: string;
  readonly version: string;
}

const oldestPython: readonly [number, number] = [3, 10];

/** Finds the Python that runs programs. If the server is root, other users must be able to run it. */
export async function findPython(): Promise<Python | undefined> {
  for (const candidate of pythonCandidates()) {
    const found = await probeTool(
      [candidate, "-c", "import sys; print(sys.executable, *sys.version_info[:3])"],
      parsePython,
    );
    if (found !== undefined && (await otherUsersCanRun([found.path, "-c", "import ssl, ctypes"]))) return found;
  }
  return undefined;
}

/** Any Python can fetch packages, even one that other users cannot run. Undefined: there is no pip. */
export async function findPip(candidates = pythonCandidates()): Promise<readonly string[] | undefined> {
  for (const candidate of candidates) {
    const pip = [candidate, "-m", "pip"];
    if ((await probeTool([...pip, "--version"], (output) => output)) !== undefined) return pip;
  }
  return undefined;
}

/** `what`: the thing that pip would fetch, as the subject of the message. */
export async function mustFindPip(what: string, candidates?: string[]): Promise<readonly string[]> {
  const pip = await findPip(candidates);
  if (pip !== undefined) return pip;
  throw new Fault("unavailable", `pip, which fetches ${what}, is missing: ${howToInstallPython()}`);
}

export function parsePython(output: string): Python | undefined {
  const match = /^(\/.*) (\d+) (\d+) (\d+)$/.exec(output.trim());
  if (match === null) return undefined;
  const [major, minor] = [Number(match[2]), Number(match[3])];
  const [oldestMajor, oldestMinor] = oldestPython;
  if (major !== oldestMajor || minor < oldestMinor) return undefined;
  return { path: match[1] ?? "", version: match.slice(2).join(".") };
}

/** Part of a message that says what is missing. */
export function pythonNeeded(): string {
  return `Python ${oldestPython.join(".")} or newer`;
}

export function howToInstallPython(): string {
  const line = installCommandHere({
    apt: "python3 python3-pip",
    dnf: "python3 python3-pip",
    zypper: "python311 python311-pip",
    pacman: "python python-pip",
    apk: "python3 py3-pip",
    brew: "python@3.12",
  });
  return line === undefined ? "install Python 3 and pip with the package manager of this system" : `run ${line}`;
}

/** In order of preference. */
export function pythonCandidates(): string[] {
  const newer = [14, 13, 12, 11, 10].map((minor) => `python3.${minor}`);
  return ["python3", "/usr/bin/python3", "/usr/local/bin/python3", ...newer];
}
