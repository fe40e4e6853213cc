import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseProperties } from "../engines/spark-submit/properties-file.ts";
import { allowedOperatorSettings, type SparkConfig } from "../engines/spark-submit/spark-config.ts";
import { Fault } from "../lib/fault.ts";

/** A folder registered by the operator, with the configuration of Hadoop's clients and of Spark for one cluster. */
export interface HadoopConf {
  readonly folder: string;
  /** From `spark-defaults.conf` in it, such as the location of Spark, the driver's address and the queue. */
  readonly sparkDefaults: SparkConfig;
}

const DEFAULTS_FILE = "spark-defaults.conf";

export async function readHadoopConf(name: string, folders: ReadonlyMap<string, string>): Promise<HadoopConf> {
  const folder = folders.get(name);
  if (folder === undefined) throw new Fault("invalid", `HEADGATE_HADOOP_CONFS does not contain ${name} any more`);
  const ofConf = `of ${name} in HEADGATE_HADOOP_CONFS`;
  const names = await readdir(folder).catch(unreadable(`the folder ${ofConf}`));
  const text = names.includes(DEFAULTS_FILE)
    ? await readFile(join(folder, DEFAULTS_FILE), "utf8").catch(unreadable(`${DEFAULTS_FILE} ${ofConf}`))
    : "";
  return { folder, sparkDefaults: allowedOperatorSettings(parseProperties(text)) };
}

function unreadable(what: string): (cause: unknown) => never {
  return (cause) => {
    throw new Fault("unavailable", `${what} cannot be read on this node`, { cause });
  };
}
