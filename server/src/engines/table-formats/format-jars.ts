/**
 * The jars of table formats, each in a folder of the cache. They are downloaded when the first cluster with the format
 * needs them, not with Spark. They come after Spark's jars on the class path, so that the class-data archive still fits.
 *
 *   spark-<version>-delta-<hash>/          its jars
 *   spark-<version>-delta-<hash>-python/   Delta's Python module, compiled
 *   spark-<version>-iceberg-<hash>/
 */
import { existsSync, readFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { makeFinishedFolder, withSetUpLock } from "../../processes/set-up/finished-folder.ts";
import { mustRun } from "../../processes/set-up/run-tool.ts";
import { printSparsely, type SetUpStep } from "../../processes/set-up/set-up-step.ts";
import {
  downloadJars,
  findIvy,
  jarsFolder,
  listJars,
  parsePinnedJars,
  type PinnedJar,
} from "../spark-home/extra-jars.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { FORMAT_NAMES, type TableFormat } from "./table-format.ts";

/** The version of Spark that the jars are for. */
const SPARK = /^4\.1\./;
const MAX_MINUTES = 15;
/** Commands fail at once for this long after a failure: each of them holds memory while it waits. */
const RETRY_AFTER_MS = 60_000;

type Home = Pick<SparkHome, "folder" | "version" | "java" | "python">;

/** The files of table formats on this node. */
export interface FormatFiles {
  readonly jars: readonly string[];
  /** The folder of Python modules; undefined: the formats have none, or this node has no Python. */
  readonly pythonPath: string | undefined;
}

export interface FormatJarsOptions {
  readonly cacheDir: string;
  readonly log: Log;
  readonly now: () => number;
}

interface Failure {
  readonly at: number;
  readonly fault: Fault;
}

export class FormatJars {
  readonly #options: FormatJarsOptions;
  readonly #stopping = new AbortController();
  readonly #downloads = new Map<TableFormat, Promise<FormatFiles>>();
  readonly #failures = new Map<TableFormat, Failure>();

  constructor(options: FormatJarsOptions) {
    this.#options = options;
  }

  /**
   * The files of the format. Concurrent callers share a download. `onDownload` is called before the wait for it; if it
   * throws, nothing is downloaded for this caller.
   */
  async provide(format: TableFormat, home: Home, onDownload: () => void = () => undefined): Promise<FormatFiles> {
    const running = this.#downloads.get(format);
    if (running === undefined) {
      const found = await findFormatFiles(format, this.#options.cacheDir, home);
      if (found !== undefined) return found;
      const failure = this.#failures.get(format);
      if (failure !== undefined && this.#options.now() - failure.at < RETRY_AFTER_MS) throw failure.fault;
    }
    onDownload();
    const download = this.#downloads.get(format) ?? this.#download(format, home);
    this.#downloads.set(format, download);
    return download;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#downloads.values());
  }

  async #download(format: TableFormat, home: Home): Promise<FormatFiles> {
    const { cacheDir, log, now } = this.#options;
    const progress = printSparsely((step) => log.info({ step }, "setting up a table format"));
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(MAX_MINUTES * 60_000)]);
    try {
      return await fetchFormatJars(format, home, { cacheDir, signal, progress });
    } catch (error) {
      const message = `${FORMAT_NAMES[format]} cannot be set up: ${reasonOf(error)}. It is tried again after a minute`;
      const fault = new Fault("unavailable", message, { cause: error });
      if (!this.#stopping.signal.aborted) log.warn({ err: error, format }, "a table format cannot be set up");
      this.#failures.set(format, { at: now(), fault });
      throw fault;
    } finally {
      this.#downloads.delete(format);
    }
  }
}

/** For users, who do not see the log. */
function reasonOf(error: unknown): string {
  if (error instanceof Fault) return error.publicMessage;
  const isTimeout = error instanceof Error && error.name === "TimeoutError";
  return isTimeout ? `the download took longer than ${MAX_MINUTES} minutes` : "the log of the server has the reason";
}

/** Undefined: they have not been downloaded yet. */
async function findFormatFiles(format: TableFormat, cacheDir: string, home: Home): Promise<FormatFiles | undefined> {
  checkVersion(format, home);
  const folder = jarsFolder(await realpath(cacheDir), home.version, format, pinnedJars(format));
  const pythonPath = pythonPathFor(format, folder, home);
  const isComplete = existsSync(folder) && (pythonPath === undefined || existsSync(pythonPath));
  return isComplete ? { jars: await pathsIn(folder), pythonPath } : undefined;
}

export async function fetchFormatJars(
  format: TableFormat,
  home: Home,
  context: { cacheDir: string; signal: AbortSignal; progress: (step: SetUpStep) => void },
): Promise<FormatFiles> {
  checkVersion(format, home);
  const cacheDir = await realpath(context.cacheDir);
  const jars = pinnedJars(format);
  const folder = jarsFolder(cacheDir, home.version, format, jars);
  const pythonPath = pythonPathFor(format, folder, home);
  const ivyJar = await findIvy(home.folder);
  if (ivyJar === undefined) throw new Fault("unavailable", "the Spark of this node has no Ivy to download jars with");
  const download = { folder, jars, text: `Downloading ${FORMAT_NAMES[format]}` };
  const work = async (): Promise<void> => {
    await downloadJars(download, { ivyJar, java: home.java }, context);
    if (home.python === undefined || pythonPath === undefined) return;
    await unpackModules(await pathsIn(folder), pythonPath, home.python.path, context.signal);
  };
  await withSetUpLock(join(cacheDir, "table-formats.lock"), context.signal, () => undefined, work);
  return { jars: await pathsIn(folder), pythonPath };
}

/** Delta's jar contains its Python module (`from delta.tables import DeltaTable`). */
function pythonPathFor(format: TableFormat, folder: string, { python }: Home): string | undefined {
  return format === "delta" && python !== undefined ? `${folder}-python` : undefined;
}

/** Python could import from the jar, but would read the list of its thousands of entries in each process. */
const UNPACK = `import compileall, py_compile, sys, zipfile
jar, folder = sys.argv[1:]
with zipfile.ZipFile(jar) as entries:
    names = [name for name in entries.namelist() if name.startswith("delta/") and name.endswith(".py")]
    entries.extractall(folder, names)
compileall.compile_dir(folder, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
`;

async function unpackModules(
  jars: readonly string[],
  folder: string,
  python: string,
  signal: AbortSignal,
): Promise<void> {
  const jar = jars.find((path) => basename(path).startsWith("delta-spark_")) ?? "";
  await makeFinishedFolder(folder, async (unfinished) => {
    await mustRun("the unpacking of Delta Lake's Python module", [python, "-I", "-c", UNPACK, jar, unfinished], {
      signal,
      cwd: "/",
    });
  });
}

function checkVersion(format: TableFormat, { version }: Home): void {
  if (SPARK.test(version)) return;
  throw new Fault("invalid", `${FORMAT_NAMES[format]} needs Spark 4.1, and the Spark of this node is ${version}`);
}

function pinnedJars(format: TableFormat): PinnedJar[] {
  return parsePinnedJars(readFileSync(new URL(`${format}-jars.txt`, import.meta.url), "utf8"));
}

async function pathsIn(folder: string): Promise<string[]> {
  return (await listJars(folder)).map((name) => join(folder, name));
}

/** The folders of these jars. */
export function foldersOf(jars: readonly string[]): string[] {
  return [...new Set(jars.map((jar) => dirname(jar)))];
}
