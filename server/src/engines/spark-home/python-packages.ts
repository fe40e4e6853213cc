import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { makeFinishedFolder, withSetUpLock } from "../../processes/set-up/finished-folder.ts";
import { LOWEST_PRIORITY, pipInstallAll } from "../../processes/set-up/pip-install.ts";
import { mustRun } from "../../processes/set-up/run-tool.ts";
import type { SetUpContext } from "../../processes/set-up/set-up-step.ts";
import { minorVersion, packageListFor, type ProgramPython } from "./program-python.ts";

/** What pandas and Spark's functions with pandas need; the rest of the list is what these require. */
export const PYTHON_PACKAGES = "numpy, pandas and pyarrow";

/** Linux x64; the others differ by a few percent. */
const DOWNLOAD_BYTES = 78_000_000;
const TIMEOUT_MS = 1_800_000;

/** Whether Python programs have the packages. */
export function hasPythonPackages({ environment }: ProgramPython): boolean {
  return environment !== undefined && existsSync(environment.packages);
}

/** Why Python programs cannot have the packages on this machine; undefined: they can. */
export function whyNoPackages(python: ProgramPython | undefined): string | undefined {
  if (python === undefined) return "this machine has no Python for programs";
  if (python.environment === undefined) {
    return `${python.whyNoEnvironment ?? "their environment is missing"}; the next start tries again`;
  }
  return packageListFor(python) === undefined ? `there are no packages for Python ${python.version}` : undefined;
}

interface FetchContext extends Pick<SetUpContext, "signal" | "progress"> {
  /** Leaves the processors to others. */
  readonly isInBackground?: boolean;
}

/**
 * Installs the pinned packages into the environment of programs. Programs that run meanwhile see either none of them or
 * all. The interpreter of programs may lack pip, so any pip of this machine selects the wheels for it.
 *
 * PySpark imports numpy in every program if it is there, which costs a tenth of a second. Its own compiled modules, which
 * are there before, save four times as much.
 */
export async function fetchPythonPackages(
  python: ProgramPython,
  { signal, progress, isInBackground = false }: FetchContext,
): Promise<void> {
  const { environment } = python;
  const list = packageListFor(python);
  if (environment === undefined || list === undefined) throw new Fault("unavailable", whyNoPackages(python) ?? "");
  const { folder, interpreter, packages, pyspark, archives } = environment;
  const onWait = (): void => progress({ text: `Waiting for another process that downloads ${PYTHON_PACKAGES}` });
  const priority = isInBackground ? LOWEST_PRIORITY : [];
  const runPython = async (what: string, words: readonly string[], env?: Record<string, string>): Promise<void> => {
    await mustRun(what, [...priority, interpreter, ...words], { signal, cwd: "/", ...(env && { env }) });
  };
  await withSetUpLock(`${folder}.lock`, signal, onWait, async () => {
    await makeFinishedFolder(pyspark, async (unfinished) => {
      progress({ text: "Compiling Spark's Python modules" });
      for (const archive of archives) {
        await runPython("the unpacking of Spark's Python modules", ["-m", "zipfile", "-e", archive, unfinished]);
      }
      await runPython("the compilation of Spark's Python modules", [...compile, unfinished]);
    });
    await makeFinishedFolder(packages, async (unfinished) => {
      const wheels = ["--only-binary=:all:", "--implementation=cp", `--python-version=${minorVersion(python)}`];
      await pipInstallAll(unfinished, list, {
        title: PYTHON_PACKAGES,
        bytes: DOWNLOAD_BYTES,
        signal,
        progress,
        timeoutMs: TIMEOUT_MS,
        moreOptions: wheels,
        isInBackground,
      });
      await rm(join(unfinished, "bin"), { recursive: true, force: true }); // scripts with a wrong interpreter
      progress({ text: `Compiling ${PYTHON_PACKAGES}` });
      const env = { PATH: "/usr/bin:/bin", PYTHONPATH: unfinished, PYTHONDONTWRITEBYTECODE: "1" };
      await runPython("the first use of the packages", ["-c", check], env);
      await runPython("the compilation of the packages", [...compile, unfinished]);
    });
  });
}

/** Wheels need not fit this interpreter or the system's libraries. */
const check = "import numpy, pandas, pyarrow";

/**
 * Programs cannot write into the folder, so Python would compile every module again at each start. The compiled files do
 * not depend on times, which a copy of the cache may change.
 */
const compile = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-x", "/tests/"];
