import type { Contribution } from "../engines/spark-home/contribution.ts";
import type { Secret } from "../lib/secret.ts";

/**
 * How long a Spark waits for its metastore to listen again, a second a try: one that has died is started anew within a
 * few seconds, more on a busy machine.
 */
const CONNECT_TRIES = 60;

/** What a Spark has to be told to find the account's tables. The same words for the same port and secret. */
export function ownCatalog(port: number, userName: string, secret: Secret): Pick<Contribution, "properties"> {
  return {
    properties: {
      ...externalCatalog(`thrift://127.0.0.1:${port}`).properties,
      // Spark's metastore client names its user's groups when it connects: one of them is the secret.
      "spark.hadoop.hadoop.user.group.static.mapping.overrides": `${userName}=${secret.reveal()}`,
      "spark.hadoop.hive.metastore.connect.retries": String(CONNECT_TRIES),
    },
  };
}

export function externalCatalog(uri: string): Pick<Contribution, "properties"> {
  return {
    properties: {
      "spark.sql.catalogImplementation": "hive",
      "spark.hadoop.hive.metastore.uris": uri,
    },
  };
}
