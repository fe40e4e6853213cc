/** The Spark that is installed. PyPI has it as a source package only, which holds the finished jars. */
export const pinnedSpark = {
  name: "pyspark",
  version: "4.1.4",
  sha256: ["bcbd5e18690cf79d438e97210ad06fb8d451a251bb77becc2b0418868d2acd73"],
  bytes: 455_589_214,
} as const;

/** The one s3a in extra-jars.txt fits: Hadoop's parts must be of one version. */
export const pinnedHadoop = "3.4.2";

export const scalaVersion = "2.13";

export const oldestJava = 17;
