/** The Spark that is installed. PyPI has only a source package, which contains the compiled jars. */
export const pinnedSpark = {
  name: "pyspark",
  version: "4.1.4",
  sha256: ["bcbd5e18690cf79d438e97210ad06fb8d451a251bb77becc2b0418868d2acd73"],
  bytes: 455_589_214,
} as const;

/** The version of s3a in extra-jars.txt. All parts of Hadoop must have the same version. */
export const pinnedHadoop = "3.4.2";

export const scalaVersion = "2.13";

export const oldestJava = 17;
