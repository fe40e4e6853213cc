import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { Secret } from "../../lib/secret.ts";

/**
 * How long a Spark waits for its metastore to listen again, a second a try: one that has died is started anew within a
 * few seconds, more on a busy machine.
 */
const CONNECT_TRIES = 60;

/**
 * What a Spark has to be told to find the account's tables; the same words for the same port and secret. The secret is
 * for the main of ours that Spark is started by: it shows it to the metastore as a group of its user.
 */
export function ownCatalog(port: number, secret: Secret): Pick<Contribution, "properties"> {
  return {
    properties: {
      ...externalCatalog(`thrift://127.0.0.1:${port}`).properties,
      "spark.headgate.metastore.secret": secret.reveal(),
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
