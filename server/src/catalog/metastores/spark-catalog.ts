import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { Secret } from "../../lib/secret.ts";

/**
 * Attempts of a Spark to connect to its metastore, one per second. A metastore that has died is restarted within a few
 * seconds, but it may take longer on a busy machine.
 */
const CONNECT_TRIES = 60;

/**
 * Connects a Spark to the account's metastore. The result depends only on the port and the secret. Our main class
 * (`jvm/driver`) turns the secret into a token by which Spark and the metastore authenticate each other (SASL), without
 * showing the secret to whatever listens on the port.
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
