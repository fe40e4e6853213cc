import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { makeFinishedFolder } from "../set-up/finished-folder.ts";
import { pipInstall } from "../set-up/pip-install.ts";
import type { SetUpContext } from "../set-up/set-up-step.ts";
import { pinnedSpark } from "./pinned-spark.ts";

const pollEveryMs = 500;

export function installedSparkFolder(cacheDir: string): string {
  return join(cacheDir, `spark-${pinnedSpark.version}`);
}

/** pip shows progress only on a terminal, so progress is derived from the size of the downloaded file. */
export async function installSpark(context: SetUpContext): Promise<string> {
  const folder = installedSparkFolder(context.cacheDir);
  await makeFinishedFolder(folder, async (unfinished) => {
    const target = join(unfinished, "target");
    await runPip(target, context);
    for (const name of await readdir(join(target, "pyspark"))) {
      await rename(join(target, "pyspark", name), join(unfinished, name));
    }
    await rm(target, { recursive: true });
  });
  return folder;
}

async function runPip(folder: string, { signal, progress }: SetUpContext): Promise<void> {
  const title = `Spark ${pinnedSpark.version}`;
  let work: string | undefined;
  let downloading = true;
  const onLine = (line: string): void => {
    if (!/^\s*(Preparing|Building|Installing)/.test(line)) return;
    downloading = false;
    progress({ text: `Unpacking ${title}` });
  };
  const reportProgress = async (): Promise<void> => {
    if (work === undefined) return;
    const percent = Math.min(99, Math.floor((100 * (await largestFile(work))) / pinnedSpark.bytes));
    if (downloading) progress({ text: `Downloading ${title}, ${Math.round(pinnedSpark.bytes / 1e6)} MB`, percent });
  };
  const timer = setInterval(() => void reportProgress(), pollEveryMs);
  try {
    const onWork = (path: string): void => void (work = path);
    await pipInstall(folder, pinnedSpark, { title, signal, onLine, onWork });
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
