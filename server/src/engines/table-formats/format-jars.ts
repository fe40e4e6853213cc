/**
 * The jars of table formats, each in a folder of the cache. They are downloaded when the first cluster with the format
 * needs them, not with Spark. They come after Spark's jars on the class path, so that the class-data archive still fits.
 *
 *   spark-<version>-delta-<hash>/
 *   spark-<version>-iceberg-<hash>/
 */
import { existsSync, readFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { withSetUpLock } from "../../processes/set-up/finished-folder.ts";
import { printSparsely, type SetUpStep } from "../../processes/set-up/set-up-step.ts";
import { downloadJars, jarsFolder, listJars, parsePinnedJars, type PinnedJar } from "../spark-home/extra-jars.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { FORMAT_NAMES, type TableFormat } from "./table-format.ts";

/** The version of Spark that the jars are for. */
const SPARK = /^4\.1\./;
const LIMIT_MS = 15 * 60_000;

type Home = Pick<SparkHome, "folder" | "version" | "java">;

export interface FormatJarsOptions {
  readonly cacheDir: string;
  readonly log: Log;
}

export class FormatJars {
  readonly #options: FormatJarsOptions;
  readonly #stopping = new AbortController();
  readonly #downloads = new Map<TableFormat, Promise<readonly string[]>>();

  constructor(options: FormatJarsOptions) {
    this.#options = options;
  }

  /** The paths of the jars of the format. Concurrent callers share a download; a failed one is repeated by the next call. */
  async provide(format: TableFormat, home: Home, onDownload: () => void = () => undefined): Promise<readonly string[]> {
    const running = this.#downloads.get(format);
    if (running === undefined) {
      const found = await findFormatJars(format, this.#options.cacheDir, home);
      if (found !== undefined) return found;
    }
    onDownload();
    const download = this.#downloads.get(format) ?? this.#download(format, home);
    this.#downloads.set(format, download);
    return download;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #download(format: TableFormat, home: Home): Promise<readonly string[]> {
    const { cacheDir, log } = this.#options;
    const progress = printSparsely((step) => log.info({ step }, "setting up a table format"));
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(LIMIT_MS)]);
    try {
      return await fetchFormatJars(format, home, { cacheDir, signal, progress });
    } catch (error) {
      const { message: reason } = error instanceof Error && error.name === "Fault" ? error : { message: "see the log" };
      const message = `${FORMAT_NAMES[format]} cannot be set up: ${reason}. The next command tries again`;
      if (!this.#stopping.signal.aborted) log.warn({ err: error, format }, "a table format cannot be set up");
      throw new Fault("unavailable", message, { cause: error });
    } finally {
      this.#downloads.delete(format);
    }
  }
}

/** Undefined: they have not been downloaded yet. */
async function findFormatJars(
  format: TableFormat,
  cacheDir: string,
  home: Home,
): Promise<readonly string[] | undefined> {
  checkVersion(format, home);
  const folder = jarsFolder(await realpath(cacheDir), home.version, format, pinnedJars(format));
  return existsSync(folder) ? pathsIn(folder) : undefined;
}

export async function fetchFormatJars(
  format: TableFormat,
  home: Home,
  context: { cacheDir: string; signal: AbortSignal; progress: (step: SetUpStep) => void },
): Promise<readonly string[]> {
  checkVersion(format, home);
  const cacheDir = await realpath(context.cacheDir);
  const jars = pinnedJars(format);
  const folder = jarsFolder(cacheDir, home.version, format, jars);
  const inSpark = await listJars(join(home.folder, "jars"));
  const ivy = inSpark.find((name) => name.startsWith("ivy-"));
  if (ivy === undefined) throw new Fault("unavailable", "the Spark of this node has no Ivy to download jars with");
  const download = { folder, jars, text: `Downloading ${FORMAT_NAMES[format]}` };
  const lock = join(cacheDir, "table-formats.lock");
  await withSetUpLock(
    lock,
    context.signal,
    () => undefined,
    () => downloadJars(download, { ivyJar: join(home.folder, "jars", ivy), java: home.java }, context),
  );
  return pathsIn(folder);
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
