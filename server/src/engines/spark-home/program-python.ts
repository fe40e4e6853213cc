/**
 * The Python of programs: the machine's interpreter in a virtual environment, which adds the packages that the set-up
 * brings. They come after what a program brings with `--py-files` and before the machine's own packages. An interpreter
 * that a program, cluster or app names is not in this environment, so it never loads packages of another version.
 *
 *   python-<version>-<hash>/
 *     pyvenv.cfg
 *     bin/python3                                    a link to the machine's interpreter
 *     sites.json                                     the folders of packages of the environment that this one is in
 *     lib/python<version>/site-packages/             names the folders below, which Python skips while they are missing
 *     lib/python<version>/pyspark/                   Spark's Python modules, compiled
 *     lib/python<version>/packages/                  appears when it is complete, in running sandboxes, too
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { mkdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import type { Python } from "../../processes/set-up/find-python.ts";
import { makeFinishedFolder } from "../../processes/set-up/finished-folder.ts";
import { mustRun, probeTool } from "../../processes/set-up/run-tool.ts";

/** The machine's Python, whose `path` executors elsewhere may have, too. */
export interface ProgramPython extends Python {
  /** The interpreter of programs, and of tasks on this node. */
  readonly localPath: string;
  /** Undefined: the environment could not be made, and `localPath` is the machine's interpreter. */
  readonly environment: PythonEnvironment | undefined;
  readonly whyNoEnvironment?: string | undefined;
}

export interface PythonEnvironment {
  readonly folder: string;
  readonly interpreter: string;
  /** Exists when the packages are installed. */
  readonly packages: string;
  /** Replaces `archives` on the path of modules as soon as it exists. */
  readonly pyspark: string;
  /** Spark's Python modules: its own and those of Py4J. */
  readonly archives: readonly string[];
}

/**
 * A change of the list, the interpreter or Spark gets a new folder, and running programs keep theirs. An interpreter that
 * is a link to a folder of its own for each patch version changes with it; the link in the environment would dangle.
 */
export function pythonEnvironmentFor(cacheDir: string, python: Python, sparkHome: string): PythonEnvironment {
  const version = minorVersion(python);
  const archives = archivesOf(sparkHome);
  const files = archives.map((path) => [path, statSync(path).size]);
  const digest = createHash("sha256")
    .update(JSON.stringify([python.path, resolved(python), packageListFor(python), inspection, pathModule, files]))
    .digest("hex")
    .slice(0, 12);
  const folder = join(cacheDir, `python-${version}-${digest}`);
  return {
    folder,
    interpreter: join(folder, "bin/python3"),
    packages: join(folder, `lib/python${version}/packages`),
    pyspark: join(folder, `lib/python${version}/pyspark`),
    archives,
  };
}

function resolved({ path }: Python): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** An operator's own Spark may lack them. */
function archivesOf(sparkHome: string): string[] {
  const folder = join(sparkHome, "python/lib");
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(".zip"));
  return names.toSorted().map((name) => join(folder, name));
}

/** The pinned packages, as a requirements file for pip. Undefined: there are no wheels for this version. */
export function packageListFor(python: Python): string | undefined {
  const file = new URL(`python-packages/${minorVersion(python)}.txt`, import.meta.url);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

export function minorVersion({ version }: Python): string {
  return version.split(".").slice(0, 2).join(".");
}

/** The machine's own interpreter may be in a virtual environment, whose packages stay visible. */
const inspection = `
import json, os, site, sys, sysconfig
in_environment = sys.prefix != sys.base_prefix
print(json.dumps({
  "base": os.path.realpath(sys._base_executable),
  "sites": site.getsitepackages([sys.prefix]) if in_environment else [],
  "system": sys.base_prefix in site.PREFIXES,
  "has_wheels": sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED"),
}))
`;

/**
 * Python compiles the modules of an archive again at each start of a program or a worker. Spark puts the archive on the
 * path, and Python runs this module before the program.
 */
const pathModule = `
import os, sys
copy = os.path.join(os.path.dirname(os.path.dirname(__file__)), "pyspark")
for at, path in enumerate(sys.path):
    if path == archive and os.path.isdir(copy):
        sys.path[at] = copy
`;

interface Inspected {
  readonly base: string;
  readonly sites: readonly string[];
  readonly system: boolean;
  readonly has_wheels: boolean;
}

/** The caller holds the lock of the set-up. */
export async function makePythonEnvironment(
  { folder, interpreter, archives }: PythonEnvironment,
  python: Python,
  signal: AbortSignal,
): Promise<void> {
  if (!existsSync(interpreter)) await rm(folder, { recursive: true, force: true }); // the link in it dangles
  await makeFinishedFolder(folder, async (unfinished) => {
    const { stdout } = await mustRun("the inspection of Python", [python.path, "-c", inspection], { signal, cwd: "/" });
    const { base, sites, system, has_wheels: hasWheels } = JSON.parse(stdout) as Inspected; // printed by `inspection`
    if (!hasWheels) throw new Fault("unavailable", noEnvironment(python));
    const library = join(unfinished, `lib/python${minorVersion(python)}/site-packages`);
    await mkdir(library, { recursive: true });
    await writeFile(join(unfinished, SITES), JSON.stringify(sites));
    await mkdir(join(unfinished, "bin"));
    await symlink(base, join(unfinished, "bin/python3"));
    const archive = archives.find((path) => path.endsWith("/pyspark.zip")) ?? "";
    await writeFile(join(library, "headgate_path.py"), `archive = ${JSON.stringify(archive)}${pathModule}`);
    const paths = [
      "../packages",
      "import headgate_path",
      ...sites.map((site) => `import site; site.addsitedir(${JSON.stringify(site)})`),
    ];
    await writeFile(join(library, "headgate.pth"), paths.map((line) => `${line}\n`).join(""));
    await writeFile(
      join(unfinished, "pyvenv.cfg"),
      `home = ${dirname(base)}\ninclude-system-site-packages = ${system}\nversion = ${python.version}\n`,
    );
    const works = [join(unfinished, "bin/python3"), "-c", "import sys; print(sys.prefix)"];
    if ((await probeTool(works, (output) => output.trim() === unfinished || undefined)) !== true) {
      throw new Fault("unavailable", noEnvironment(python));
    }
  });
}

const SITES = "sites.json";

function noEnvironment({ path }: Python): string {
  return `${path} is not a CPython that works in a virtual environment`;
}

/** `reason`: why the environment could not be made. */
export function programPython(python: Python, environment: PythonEnvironment, reason?: string): ProgramPython {
  if (existsSync(environment.interpreter)) return { ...python, localPath: environment.interpreter, environment };
  return { ...python, localPath: python.path, environment: undefined, whyNoEnvironment: reason };
}

/** The folders that a sandbox has to make visible for it. */
export async function foldersOfPython({ path, environment }: ProgramPython): Promise<string[]> {
  const prefix = (interpreter: string): string => dirname(dirname(interpreter));
  if (environment === undefined) return [prefix(path)];
  const { folder, interpreter } = environment;
  const sites = JSON.parse(await readFile(join(folder, SITES), "utf8")) as string[]; // written by `makePythonEnvironment`
  return [...new Set([prefix(await readlink(interpreter)), ...sites.filter((site) => existsSync(site)), folder])];
}
