import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFinishedFolder } from "./finished-folder.ts";
import { pinnedSpark } from "./pinned-spark.ts";
import { findPip } from "./prerequisites.ts";
import { mustRun } from "./run-tool.ts";
import type { SetUpContext } from "./set-up-step.ts";

const lookEveryMs = 500;

export function installedSparkFolder(cacheDir: string): string {
  return join(cacheDir, `spark-${pinnedSpark.version}`);
}

/**
 * pip fetches it, so that an operator's index, mirror, proxy and certificates count, and refuses any other bytes than
 * the pinned ones. pip's own bar is a terminal's; we look at the file grow instead, whose size we know.
 */
export async function installSpark(context: SetUpContext): Promise<string> {
  const folder = installedSparkFolder(context.cacheDir);
  await makeFinishedFolder(folder, async (unfinished) => {
    const pip = await findPip();
    const [work, target] = [join(unfinished, "work"), join(unfinished, "target")];
    await mkdir(work);
    const requirements = join(work, "requirements.txt");
    await writeFile(requirements, `pyspark==${pinnedSpark.version} --hash=sha256:${pinnedSpark.sha256}\n`);
    await runPip([...pip, "install", "--target", target, "--requirement", requirements], work, context);
    for (const name of await readdir(join(target, "pyspark"))) {
      await rename(join(target, "pyspark", name), join(unfinished, name));
    }
    await rm(work, { recursive: true });
    await rm(target, { recursive: true });
  });
  return folder;
}

const pipOptions = ["--require-hashes", "--no-deps", "--no-cache-dir", "--no-compile", "--no-input"];
const pipQuiet = ["--progress-bar=off", "--disable-pip-version-check", "--no-color"];

async function runPip(install: readonly string[], work: string, { signal, progress }: SetUpContext): Promise<void> {
  const name = `Spark ${pinnedSpark.version}`;
  let downloading = true;
  const onLine = (line: string): void => {
    if (!/^\s*(Preparing|Building|Installing)/.test(line)) return;
    downloading = false;
    progress({ text: `Unpacking ${name}` });
  };
  const look = async (): Promise<void> => {
    const percent = Math.min(99, Math.floor((100 * (await largestFile(work))) / pinnedSpark.bytes));
    if (downloading) progress({ text: `Downloading ${name}, ${Math.round(pinnedSpark.bytes / 1e6)} MB`, percent });
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  try {
    // Everything pip writes on the way lies below our folder and goes with it.
    const argv = ["/usr/bin/env", `TMPDIR=${work}`, ...install, ...pipOptions, ...pipQuiet];
    await mustRun(`the installation of ${name} by pip`, argv, { signal, onLine, cwd: work });
  } finally {
    clearInterval(timer);
  }
}

async function largestFile(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const archives = names.filter((name) => name.endsWith(".tar.gz"));
  const sizes = await Promise.all(
    archives.map((name) =>
      stat(join(folder, name)).then(
        (found) => found.size,
        () => 0,
      ),
    ),
  );
  return Math.max(0, ...sizes);
}
