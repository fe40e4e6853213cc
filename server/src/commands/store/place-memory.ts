/** The heap that the configuration of an app or else of a cluster gives to drivers; null: neither does. */
export const PLACE_MEMORY =
  "coalesce(app.config ->> 'spark.driver.memory', cluster.spark_config ->> 'spark.driver.memory')";
