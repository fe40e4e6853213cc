import { requireFeature, type Caller } from "../access/caller.ts";
import { checkSparkConfig, type SparkConfig } from "../engines/spark-submit/spark-config.ts";
import type { TableFormat } from "../engines/table-formats/table-format.ts";
import { invalid } from "../lib/fault.ts";
import {
  MAX_CONCURRENT_COMMANDS,
  MAX_IDLE_HOURS,
  MIN_IDLE_SECONDS,
  MAX_IDLE_SECONDS,
  type SettingInput,
} from "./cluster-fields.ts";
import { parseEngine, type ClusterEngine, type EngineInput, type EngineRules } from "./engine.ts";
import { parsePools, type Pools } from "./pools.ts";
import { checkTableFormats, parseTableFormats } from "./table-formats.ts";

/** The settings of a cluster, except labels and token. Null: the value of the account or the deployment applies. */
export interface ClusterSettings {
  engine: ClusterEngine;
  sparkConfig: SparkConfig;
  tableFormats: readonly TableFormat[];
  pools: Pools;
  maxConcurrentCommands: number | null;
  idleClusterTimeoutHours: number | null;
  idleClusterTimeoutSeconds: number | null;
}

export const NEW_CLUSTER: ClusterSettings = {
  engine: { type: "local" },
  sparkConfig: {},
  tableFormats: [],
  pools: {},
  maxConcurrentCommands: null,
  idleClusterTimeoutHours: null,
  idleClusterTimeoutSeconds: null,
};

export interface SettingRules extends EngineRules {
  caller: Pick<Caller, "accountId" | "features">;
}

/** The settings after a request: absent fields keep their value, maps are replaced as a whole. */
export function mergedSettings(
  input: SettingInput & { engine?: EngineInput },
  current: ClusterSettings,
  rules: SettingRules,
): ClusterSettings {
  if (input.environment_id !== undefined)
    throw invalid("environment_id", `names no environment of the account: ${input.environment_id}`);
  const { engine, spark_config: config, table_formats: formats, pools, max_concurrent_commands: commands } = input;
  const settings = {
    engine: engine === undefined ? current.engine : parseEngine(engine, rules),
    sparkConfig: config === undefined ? current.sparkConfig : checkSparkConfig(config, "spark_config"),
    tableFormats: formats === undefined ? current.tableFormats : parseTableFormats(formats),
    pools: pools === undefined ? current.pools : parsePools(pools),
    maxConcurrentCommands: givenOr(
      ownValue("max_concurrent_commands", commands, 1, MAX_CONCURRENT_COMMANDS),
      current.maxConcurrentCommands,
    ),
    ...mergedTimeouts(input, current, rules),
  };
  checkTableFormats(settings);
  return settings;
}

/** The last request counts, as for the account: hours without seconds make the hours effective again. */
function mergedTimeouts(input: SettingInput, current: ClusterSettings, { caller }: SettingRules) {
  const hours = ownValue("idle_cluster_timeout", input.idle_cluster_timeout, 0, MAX_IDLE_HOURS);
  const seconds = ownValue(
    "idle_cluster_timeout_in_secs",
    input.idle_cluster_timeout_in_secs,
    MIN_IDLE_SECONDS,
    MAX_IDLE_SECONDS,
  );
  if (seconds !== undefined && seconds !== null && seconds !== current.idleClusterTimeoutSeconds) {
    requireFeature(caller, "aggressive_downscaling", "idle_cluster_timeout_in_secs");
  }
  const currentSeconds = hours === undefined ? current.idleClusterTimeoutSeconds : null;
  return {
    idleClusterTimeoutHours: givenOr(hours, current.idleClusterTimeoutHours),
    idleClusterTimeoutSeconds: givenOr(seconds, currentSeconds),
  };
}

function givenOr(given: number | null | undefined, current: number | null): number | null {
  return given === undefined ? current : given;
}

/** Undefined: not given. Null: the cluster's own value is removed. */
function ownValue(
  field: string,
  given: number | string | undefined,
  minimum: number,
  maximum: number,
): number | null | undefined {
  if (given === undefined) return undefined;
  if (given === "") return null;
  const value = typeof given === "string" && /^\s*\+?\d+\s*$/.test(given) ? Number(given) : given;
  if (typeof value !== "number" || !Number.isInteger(value)) throw invalid(field, "must be an integer");
  if (value < minimum) throw invalid(field, `must be at least ${minimum}`);
  if (value > maximum) throw invalid(field, `must be at most ${maximum}`);
  return value;
}
