import type { Caller } from "../access/caller.ts";
import { requireFeature } from "../access/require-feature.ts";
import { checkSparkConfig, type SparkConfig } from "../engines/spark-submit/spark-config.ts";
import { invalid } from "../lib/fault.ts";
import {
  COMMANDS_AT_MOST,
  IDLE_HOURS_AT_MOST,
  IDLE_SECONDS_AT_LEAST,
  IDLE_SECONDS_AT_MOST,
  type SettingInput,
} from "./cluster-fields.ts";
import { parseEngine, type ClusterEngine, type EngineInput, type EngineRules } from "./engine.ts";
import { parsePools, type Pools } from "./pools.ts";

/** What an account has set of a cluster, apart from its labels and its token. Null: the account's or the deployment's. */
export interface ClusterSettings {
  engine: ClusterEngine;
  sparkConfig: SparkConfig;
  pools: Pools;
  maxConcurrentCommands: number | null;
  idleClusterTimeoutHours: number | null;
  idleClusterTimeoutSeconds: number | null;
}

export const NEW_CLUSTER: ClusterSettings = {
  engine: { type: "local" },
  sparkConfig: {},
  pools: {},
  maxConcurrentCommands: null,
  idleClusterTimeoutHours: null,
  idleClusterTimeoutSeconds: null,
};

export interface SettingRules extends EngineRules {
  caller: Pick<Caller, "accountId" | "features">;
}

/** The settings after a request: what is absent stays, maps are replaced whole. */
export function mergedSettings(
  input: SettingInput & { engine?: EngineInput },
  current: ClusterSettings,
  rules: SettingRules,
): ClusterSettings {
  if (input.environment_id !== undefined) throw invalid("environment_id", "names no environment of the account");
  const { engine, spark_config: config, pools, max_concurrent_commands: commands } = input;
  return {
    engine: engine === undefined ? current.engine : parseEngine(engine, rules),
    sparkConfig: config === undefined ? current.sparkConfig : checkSparkConfig(config, "spark_config"),
    pools: pools === undefined ? current.pools : parsePools(pools),
    maxConcurrentCommands: kept(
      ownValue("max_concurrent_commands", commands, 1, COMMANDS_AT_MOST),
      current.maxConcurrentCommands,
    ),
    ...mergedTimeouts(input, current, rules),
  };
}

/** As in the account the last word counts: hours given without seconds put the hours in force again. */
function mergedTimeouts(input: SettingInput, current: ClusterSettings, { caller }: SettingRules) {
  const hours = ownValue("idle_cluster_timeout", input.idle_cluster_timeout, 0, IDLE_HOURS_AT_MOST);
  const seconds = ownValue(
    "idle_cluster_timeout_in_secs",
    input.idle_cluster_timeout_in_secs,
    IDLE_SECONDS_AT_LEAST,
    IDLE_SECONDS_AT_MOST,
  );
  if (seconds !== undefined && seconds !== null && seconds !== current.idleClusterTimeoutSeconds) {
    requireFeature(caller, "aggressive_downscaling", "idle_cluster_timeout_in_secs");
  }
  const otherwise = hours === undefined ? current.idleClusterTimeoutSeconds : null;
  return {
    idleClusterTimeoutHours: kept(hours, current.idleClusterTimeoutHours),
    idleClusterTimeoutSeconds: kept(seconds, otherwise),
  };
}

function kept(given: number | null | undefined, current: number | null): number | null {
  return given === undefined ? current : given;
}

/** Undefined: not given. Null: none of its own any more. */
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
