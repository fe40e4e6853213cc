import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";

/** A Spark of which nothing is there but the Java that is given. */
export function stubSparkHome(java = "/java/bin/java"): SparkHome {
  return {
    folder: "/spark",
    version: "4.1.3",
    java: { path: java, home: "/java", build: "17" },
    python: { path: "/usr/bin/python3", version: "3.11" },
    javaArguments: "/launch/java.args",
    classPath: [],
    ownJars: { jvm: "/jvm.jar", extra: [] },
    driverPython: "/launch/wrappers/python",
    driverR: "/launch/wrappers/R",
    archive: undefined,
    readOnlyFolders: [],
  };
}
