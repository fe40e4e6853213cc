import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFinishedFolder } from "../../processes/set-up/finished-folder.ts";
import { pipInstall } from "../../processes/set-up/pip-install.ts";
import type { SetUpContext } from "../../processes/set-up/set-up-step.ts";
import { pinnedSpark } from "./pinned-spark.ts";

export function installedSparkFolder(cacheDir: string): string {
  return join(cacheDir, `spark-${pinnedSpark.version}`);
}

export async function installSpark(context: SetUpContext): Promise<string> {
  const folder = installedSparkFolder(context.cacheDir);
  await makeFinishedFolder(folder, async (unfinished) => {
    const target = join(unfinished, "target");
    const { signal, progress } = context;
    await pipInstall(target, pinnedSpark, { title: `Spark ${pinnedSpark.version}`, signal, progress });
    for (const name of await readdir(join(target, "pyspark"))) {
      await rename(join(target, "pyspark", name), join(unfinished, name));
    }
    await rm(target, { recursive: true });
  });
  return folder;
}
