import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { Secret } from "../../lib/secret.ts";

/**
 * How long a Spark waits for its metastore to listen again, a second a try: one that has died is started anew within a
 * few seconds, more on a busy machine.
 */
const CONNECT_TRIES = 60;

/**
 * What a Spark has to be told to find the account's tables; the same words for the same port and secret. The main of ours
 * that Spark is started by (`jvm/driver`) makes a token of the secret, by which Spark and the metastore recognise each
 * other (SASL): neither shows the secret to whatever listens on the port.
 */
export function ownCatalog(port: number, secret: Secret): Pick<Contribution, "properties"> {
  return {
    properties: {
      ...externalCatalog(`thrift://127.0.0.1:${port}`).properties,
      "spark.headgate.metastore.secret": secret.reveal(),
      "spark.hadoop.hive.metastore.sasl.enabled": "true",
      "spark.hadoop.hive.metastore.token.signature": "headgate",
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
