/** Everything that configures an account's Sparks, merged: storage, metastore, cluster, app and table formats. */
import { availableParallelism } from "node:os";
import type { sparkStorage } from "../accounts/spark-storage.ts";
import { sparkApp } from "../apps/spark-app.ts";
import type { Metastores } from "../catalog/metastores/metastores.ts";
import type { sparkCluster } from "../clusters/spark-cluster.ts";
import type { ContributionsOf } from "../commands/execution/spark-scope.ts";
import type { Database } from "../db/database.ts";
import { mergeContributions } from "../engines/spark-home/contribution.ts";
import type { SparkSetUp } from "../engines/spark-home/spark-set-up.ts";
import { runsHere } from "../engines/spark-submit/executor-jars.ts";
import { checkServerSettings } from "../engines/spark-submit/submit-rules.ts";
import { isOwnedByFormats } from "../engines/table-formats/format-properties.ts";
import type { FormatFiles, FormatJars } from "../engines/table-formats/format-jars.ts";
import { FORMAT_NAMES, type TableFormat } from "../engines/table-formats/table-format.ts";
import { withTableFormats } from "../engines/table-formats/with-table-formats.ts";
import { Fault } from "../lib/fault.ts";

interface ContributionParts {
  readonly db: Database;
  readonly clusterOf: ReturnType<typeof sparkCluster>;
  readonly storageOf: ReturnType<typeof sparkStorage>;
  readonly metastores: Metastores;
  readonly formatJars: FormatJars;
  readonly setUp: SparkSetUp | undefined;
}

/** If two contributions set a property, the later one wins. */
export function sparkContributions(parts: ContributionParts): ContributionsOf {
  const { db, clusterOf, storageOf, metastores } = parts;
  const appOf = sparkApp(db);
  const processors = availableParallelism();
  return async ({ accountId, clusterId, appId }, onWait = () => undefined) => {
    for (;;) {
      const [storage, cluster, app] = await Promise.all([
        storageOf(accountId),
        clusterOf(accountId, clusterId),
        appId === null ? {} : appOf(accountId, appId),
      ]);
      let hasWaited = false;
      const formats = await filesOf(cluster.tableFormats, parts, (text) => {
        hasWaited = true;
        onWait(text);
      });
      if (hasWaited) continue; // the settings may have changed meanwhile
      // A remote server has its own catalog.
      const catalog = cluster.remote === undefined ? await metastores.contributionOf(accountId, storage) : {};
      const isHere = runsHere(cluster.properties ?? {});
      // Another cluster may have access to S3 by itself.
      const files = isHere ? storage : { ...storage, defaults: {} };
      const merged = mergeContributions([files, catalog, cluster, app]);
      if (cluster.tableFormats.length > 0) {
        checkServerSettings(merged.properties, "config of the app", isOwnedByFormats);
      }
      return withTableFormats(merged, cluster.tableFormats, {
        ...formats,
        processors: isHere ? processors : undefined,
      });
    }
  };
}

/** The first command on this node that needs a format waits until it is downloaded. */
async function filesOf(
  formats: readonly TableFormat[],
  { formatJars, setUp }: Pick<ContributionParts, "formatJars" | "setUp">,
  onWait: (text: string) => void,
): Promise<FormatFiles> {
  const jars: string[] = [];
  let pythonPath: string | undefined;
  for (const format of formats) {
    const spark = setUp?.current();
    if (spark?.state !== "ready") throw new Fault("unavailable", "Spark is not set up on this node");
    const files = await formatJars.provide(format, spark.home, () =>
      onWait(`waiting for the download of ${FORMAT_NAMES[format]}, which is downloaded once for this node`),
    );
    jars.push(...files.jars);
    pythonPath ??= files.pythonPath;
  }
  return { jars, pythonPath };
}
