import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";

/** A Spark without files, except for the given Java. */
export function stubSparkHome(java = "/java/bin/java"): SparkHome {
  return {
    folder: "/spark",
    version: "4.1.3",
    java: { path: java, home: "/java", build: "17" },
    python: { path: "/usr/bin/python3", version: "3.11.2", localPath: "/python/bin/python3", environment: undefined },
    javaArguments: "/launch/java.args",
    classPath: [],
    ownJars: { jvm: "/jvm.jar", extra: [] },
    driverPython: "/launch/wrappers/python",
    driverR: "/launch/wrappers/R",
    archive: undefined,
    readOnlyFolders: [],
  };
}
