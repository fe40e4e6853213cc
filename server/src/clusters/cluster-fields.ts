import { Type, type Static } from "typebox";
import { SPARK_CONFIG_VALUE_LENGTH } from "../engines/spark-submit/spark-config.ts";
import { StringMap } from "../http/schema.ts";
import { Engine } from "./engine.ts";
import { Labels } from "./labels.ts";
import { PoolsInput } from "./pools.ts";

export const MAX_IDLE_HOURS = 6;
/** §8. */
export const MIN_IDLE_SECONDS = 300;
/** PostgreSQL's `integer`. */
export const MAX_IDLE_SECONDS = 2_147_483_647;
export const MAX_CONCURRENT_COMMANDS = 100_000;

/**
 * An integer, or an empty string, which removes the cluster's own value: in this API, null means absent. Parsed in
 * cluster-settings.ts.
 */
const own = (minimum: number, maximum: number, description: string) =>
  Type.Optional(
    Type.Unsafe<number | string>({
      type: ["integer", "string"],
      minimum,
      maximum,
      maxLength: 20,
      description,
    }),
  );

export const SettingFields = {
  spark_config: Type.Optional(
    StringMap({
      maxLength: SPARK_CONFIG_VALUE_LENGTH,
      description: "Spark properties for all commands of the cluster, except those that the server sets itself",
      examples: [{ "spark.sql.shuffle.partitions": "8" }],
    }),
  ),
  environment_id: Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "A package environment of the account" }),
  ),
  table_formats: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: 16,
      description: "delta, iceberg: formats of tables that commands of the cluster can use, besides those of Spark",
      examples: [["delta"]],
    }),
  ),
  pools: Type.Optional(PoolsInput),
  max_concurrent_commands: own(
    1,
    MAX_CONCURRENT_COMMANDS,
    'Commands at the same time; "": the limit of the deployment',
  ),
  idle_cluster_timeout: own(0, MAX_IDLE_HOURS, 'Hours until the idle cluster ends; "": the account\'s timeout'),
  idle_cluster_timeout_in_secs: own(
    MIN_IDLE_SECONDS,
    MAX_IDLE_SECONDS,
    'Seconds instead of hours, with the feature aggressive_downscaling; "": none',
  ),
};

/** For a new cluster. `engine` can be absent in some forms of the request only (cluster-forms.ts). */
export const NewClusterBody = Type.Object({ labels: Labels, engine: Type.Optional(Engine), ...SettingFields });
export const EditBody = Type.Object({
  labels: Type.Optional(Labels),
  engine: Type.Optional(Engine),
  ...SettingFields,
});

const SettingInput = Type.Object(SettingFields);
export type SettingInput = Static<typeof SettingInput>;
