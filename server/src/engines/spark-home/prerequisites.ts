import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { installLineHere } from "../../lib/install-line.ts";
import { oldestJava, oldestPython } from "./pinned-spark.ts";
import { runTool } from "./run-tool.ts";

/** What has to be on the machine before Spark can be: Java and Python. pip is needed only to fetch Spark. */
export interface Java {
  readonly path: string;
  readonly home: string;
  /** Exact, with vendor and build: class-data archives fit one build only. */
  readonly build: string;
}

export interface Python {
  readonly path: string;
  readonly version: string;
}

/** As root programs run under other users: what they cannot run (below a 0700 home) is not taken. */
const nobody = 65_534;
const asOthers = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
const asking = { cwd: "/", timeoutMs: 20_000 };

export async function findPrerequisites(javaHome: string | undefined): Promise<{ java: Java; python: Python }> {
  const [java, python] = await Promise.all([findJava(javaHome), findPython()]);
  if (java !== undefined && python !== undefined) return { java, python };
  const missing = [
    ...(java === undefined ? [`Java ${oldestJava} or newer`] : []),
    ...(python === undefined ? [`Python ${oldestPython.join(".")} or newer`] : []),
  ];
  throw new Fault("unavailable", `Spark needs ${missing.join(" and ")}${forOthers()}: ${howToInstall()}`);
}

export async function findJava(javaHome: string | undefined): Promise<Java | undefined> {
  const named = javaHome === undefined ? [] : [join(javaHome, "bin/java")];
  const candidates = [...named, "java", ...installedJavas()];
  for (const candidate of candidates) {
    const found = await answerOf([candidate, "-XshowSettings:properties", "-version"], parseJavaSettings);
    if (found !== undefined && (await othersMayRun([found.path, "-version"]))) return found;
  }
  return undefined;
}

export async function findPython(): Promise<Python | undefined> {
  for (const candidate of pythonCandidates()) {
    const found = await answerOf(
      [candidate, "-c", "import sys; print(sys.executable, *sys.version_info[:3])"],
      parsePython,
    );
    if (found !== undefined && (await othersMayRun([found.path, "-c", "import ssl, ctypes"]))) return found;
  }
  return undefined;
}

/** Any Python will do to fetch with, also one that only we can run. */
export async function findPip(): Promise<readonly string[]> {
  for (const candidate of pythonCandidates()) {
    const pip = [candidate, "-m", "pip"];
    if ((await answerOf([...pip, "--version"], (said) => said)) !== undefined) return pip;
  }
  throw new Fault("unavailable", `Spark is fetched by pip, which is missing: ${howToInstall()}`);
}

export function parseJavaSettings(said: string): Java | undefined {
  const value = (key: string): string => new RegExp(`^\\s*${key} = (.*)$`, "m").exec(said)?.[1]?.trim() ?? "";
  const [major = 0] = value("java.specification.version").split(".").map(Number);
  const home = value("java.home");
  if (home === "" || major < oldestJava) return undefined;
  const build = ["java.vm.vendor", "java.vm.version", "os.arch"].map(value).join(" ");
  return { path: join(home, "bin/java"), home, build };
}

export function parsePython(said: string): Python | undefined {
  const match = /^(\/.*) (\d+) (\d+) (\d+)$/.exec(said.trim());
  if (match === null) return undefined;
  const [major, minor] = [Number(match[2]), Number(match[3])];
  const [oldestMajor, oldestMinor] = oldestPython;
  if (major !== oldestMajor || minor < oldestMinor) return undefined;
  return { path: match[1] ?? "", version: match.slice(2).join(".") };
}

async function answerOf<T>(argv: readonly string[], parse: (said: string) => T | undefined): Promise<T | undefined> {
  try {
    const { exitCode, said } = await runTool(argv, asking);
    return exitCode === 0 ? parse(said) : undefined;
  } catch {
    return undefined; // not there, or nothing that can be run
  }
}

async function othersMayRun(argv: readonly string[]): Promise<boolean> {
  const env = { PATH: "/usr/bin:/bin" };
  return runTool(argv, { ...asking, ...asOthers, env }).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  );
}

function pythonCandidates(): string[] {
  const newer = [14, 13, 12, 11, 10].map((minor) => `python3.${minor}`);
  return ["python3", "/usr/bin/python3", "/usr/local/bin/python3", ...newer];
}

function installedJavas(): string[] {
  const folder = "/usr/lib/jvm";
  try {
    return readdirSync(folder).map((name) => join(folder, name, "bin/java"));
  } catch {
    return []; // another system keeps them elsewhere
  }
}

function forOthers(): string {
  return "uid" in asOthers ? ", and as root one that other users can run (not below a closed home)" : "";
}

function howToInstall(): string {
  const line = installLineHere({
    apt: "openjdk-17-jre-headless python3 python3-pip",
    dnf: "java-17-openjdk-headless python3 python3-pip",
    zypper: "java-17-openjdk-headless python311 python311-pip",
    pacman: "jre17-openjdk-headless python python-pip",
    apk: "openjdk17-jre-headless python3 py3-pip",
    brew: "openjdk@17 python@3.12",
  });
  return line === undefined ? "install them with the package manager of this system" : `run ${line}`;
}
