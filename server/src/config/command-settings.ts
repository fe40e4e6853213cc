import { A_PATH, integer, listOf, namedFolder, oneOf, path, sizeMiB } from "./parse-value.ts";
import { derived, fixed } from "./setting.ts";

const isolations = ["auto", "bubblewrap", "none"] as const;

/** Settings of running commands: Spark, clusters, leases and isolation. */
export const commandSettings = {
  sparkHome: derived({
    name: "HEADGATE_SPARK_HOME",
    description: "Your own Spark 4 for Scala 2.13, instead of the one that Headgate installs into the cache.",
    allowed: A_PATH,
    parse: path,
    derived: "the pinned version, installed with pip",
  }),
  javaHome: derived({
    name: "JAVA_HOME",
    description: "The Java installation that runs Spark, version 17 or newer.",
    allowed: A_PATH,
    parse: path,
    derived: "java on the PATH, else the first suitable one in /usr/lib/jvm, else one installed with pip",
  }),
  hadoopConfs: fixed({
    name: "HEADGATE_HADOOP_CONFS",
    description:
      "Folders with the Hadoop configuration of YARN clusters on this machine, by the name that clusters use. " +
      "A spark-defaults.conf in such a folder applies to Spark on that cluster.",
    allowed: "a comma-separated list of name=/absolute/folder, or none",
    parse: listOf(namedFolder),
    default: "none",
  }),
  memoryBudgetMiB: derived({
    name: "HEADGATE_MEMORY_BUDGET",
    description: "Total memory for the commands that run on this node.",
    allowed: "a size such as 8g or 8192m",
    parse: sizeMiB,
    derived: "70% of the machine's memory",
  }),
  timeoutCheckSeconds: fixed({
    name: "HEADGATE_TIMEOUT_CHECK_SECONDS",
    description: "Interval of the checks of a command's timeout, in seconds, counted from its start.",
    allowed: "an integer from 1 to 3600",
    parse: integer(1, 3600),
    default: "60",
  }),
  leaseSeconds: fixed({
    name: "HEADGATE_LEASE_SECONDS",
    description:
      "Seconds after which a node without a connection to the shared database ends its commands, and other nodes settle them.",
    allowed: "an integer from 5 to 86400",
    parse: integer(5, 86_400),
    default: "600",
  }),
  orphanMinutes: fixed({
    name: "HEADGATE_ORPHAN_MINUTES",
    description:
      "Minutes after which an idle warm server, metastore or standby driver ends by itself if Headgate does not come " +
      "back.",
    allowed: "an integer from 1 to 10080",
    parse: integer(1, 10_080),
    default: "10",
  }),
  isolation: fixed({
    name: "HEADGATE_ISOLATION",
    description:
      "How programs are isolated: bubblewrap; auto, which uses bubblewrap if available and else runs programs of the first " +
      "account only; or none, if every account is trusted.",
    allowed: `one of ${isolations.join(", ")}`,
    parse: oneOf(isolations),
    default: "auto",
  }),
} as const;
