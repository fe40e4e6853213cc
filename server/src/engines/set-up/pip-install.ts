import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mustFindPip } from "./find-python.ts";
import { mustRun, type ToolOptions } from "./run-tool.ts";

/** A package of PyPI, by the files that may be installed for it. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** One for each file: pip takes the one that fits this machine, and refuses any other bytes. */
  readonly sha256: readonly string[];
}

export interface PipOptions extends Pick<ToolOptions, "signal" | "onLine" | "timeoutMs"> {
  /** What people call it, with its version. */
  readonly title: string;
  /** Where pip keeps what it downloads while it works; below the folder, and removed at the end. */
  readonly onWork?: (folder: string) => void;
  readonly moreOptions?: readonly string[];
}

/**
 * Fills a folder with what the package holds. pip fetches it, so that an operator's index, mirror, proxy and
 * certificates count.
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
  // Everything pip writes on the way lies below our folder and goes with it.
  const argv = ["/usr/bin/env", `TMPDIR=${work}`, ...install, ...strict, ...quiet, ...moreOptions];
  await mustRun(`the installation of ${title} by pip`, argv, { ...running, cwd: work });
  await rm(work, { recursive: true });
}

const strict = ["--require-hashes", "--no-deps", "--no-cache-dir", "--no-compile", "--no-input"];
const quiet = ["--progress-bar=off", "--disable-pip-version-check", "--no-color"];
