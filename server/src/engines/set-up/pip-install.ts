import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mustFindPip } from "./find-python.ts";
import { mustRun, type ToolOptions } from "./run-tool.ts";

/** A package on PyPI, and the files that may be installed for it. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** One hash for each file. pip picks the file for this machine and refuses one whose hash is not listed. */
  readonly sha256: readonly string[];
}

export interface PipOptions extends Pick<ToolOptions, "signal" | "onLine" | "timeoutMs"> {
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
