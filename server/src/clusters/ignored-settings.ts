/**
 * Settings of clusters in the original interface that Headgate does not have, and what to use instead. A name stands for
 * everything below it for which there is no closer name.
 */
import type { FieldPath } from "../http/ignored-fields.ts";

const executors =
  "Spark adds and removes executors as needed; set spark.dynamicAllocation.minExecutors and maxExecutors in spark_config";
const machines =
  "the engine decides about machines; set spark.driver.memory, spark.executor.memory and spark.executor.cores in spark_config";
const cloud = "engine says where the cluster runs, and its commands use the keys of the account (PUT /api/v2/accounts)";
const properties = "set Spark properties in spark_config; those of Hadoop begin with spark.hadoop";
const preparation =
  "clusters have no machines to prepare or to log in to; commands bring their files with --jars and --py-files";
const sparkOnly = "every cluster runs Spark";
const fairPools = "define pools in pools";
const operators = "the operator of the server decides it";
const lifetime =
  "deny terminate in the policy of the cluster (PUT /api/v2/object_policy/policy), or set idle_cluster_timeout";

const INSTEAD: ReadonlyMap<string, string> = new Map([
  ["max_nodes", executors],
  ["min_nodes", executors],
  ["initial_nodes", executors],
  ["autoscaling", executors],
  ["node_configuration", machines],
  ["master_instance_type", machines],
  ["slave_instance_type", machines],
  ["slave_request_type", machines],
  ["spot_settings", machines],
  ["spot_instance_settings", machines],
  ["stable_spot_instance_settings", machines],
  ["heterogeneous_config", machines],
  ["composition", machines],
  ["datadisk", machines],
  ["ebs_volume_count", machines],
  ["ec2_settings", cloud],
  ["cloud_config", cloud],
  ["location", cloud],
  ["network_config", cloud],
  ["compute_config", cloud],
  ["storage_config", cloud],
  ["hadoop_settings", properties],
  ["spark_settings", properties],
  ["engine_config", properties],
  ["custom_config", properties],
  ["fairscheduler_settings", fairPools],
  ["flavour", sparkOnly],
  ["use_spark", sparkOnly],
  ["use_hadoop2", sparkOnly],
  ["use_hbase", sparkOnly],
  ["presto_settings", sparkOnly],
  ["hive_settings", sparkOnly],
  ["airflow_settings", sparkOnly],
  ["node_bootstrap", preparation],
  ["node_bootstrap_file", preparation],
  ["security_settings", preparation],
  ["customer_ssh_key", preparation],
  ["enable_ganglia_monitoring", operators],
  ["monitoring", operators],
  ["internal", operators],
  ["disallow_cluster_termination", lifetime],
  ["force_tunnel", operators],
  ["tunnel_server_ip", operators],
  ["cluster_name", "use labels"],
]);

/** Whether the original interface has a setting of this name that Headgate does not have. */
export function isForeignSetting(name: string): boolean {
  return INSTEAD.has(name);
}

/** A setting that asks for what every cluster is. */
export function isAlwaysMet(name: string, value: unknown): boolean {
  return (name === "flavour" && value === "spark") || (name === "use_spark" && value === true);
}

/** What to do instead of an ignored setting. `own` are the fields of a request; they count only at the top of the body. */
export function insteadOf(path: FieldPath, own: ReadonlySet<string>): string {
  const name = path.at(-1) ?? "";
  if (path.length > 1 && (own.has(name) || name === "label")) return `move ${name} to the top level of the body`;
  const closest = path.findLast((each) => INSTEAD.has(each)) ?? "";
  return INSTEAD.get(closest) ?? "clusters have no such setting";
}
