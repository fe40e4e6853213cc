import { Type, type Static } from "typebox";
import { TABLE_FORMATS } from "../engines/table-formats/table-format.ts";
import { Id, Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { Engine, engineObject } from "./engine.ts";
import { PoolObject, poolsObject } from "./pools.ts";
import { CLUSTER_STATES, type ClusterRow } from "./store/cluster.ts";

/** A cluster as the API shows it (decisions §5). */
export const Cluster = Type.Object(
  {
    id: Id,
    account_id: Type.Integer(),
    labels: Type.Array(Type.String(), { description: "Each is unique in the account" }),
    engine: Engine,
    spark_config: Type.Unsafe<Readonly<Record<string, string>>>(
      Type.Object({}, { additionalProperties: Type.String() }),
    ),
    table_formats: Type.Array(OneOf(TABLE_FORMATS), { description: "Formats of tables besides those of Spark" }),
    environment_id: Nullable(Type.Integer()),
    pools: Type.Unsafe<Record<string, Static<typeof PoolObject>>>(
      Type.Object({}, { additionalProperties: PoolObject }),
    ),
    max_concurrent_commands: Nullable(Type.Integer({ description: "Null: the limit of the deployment" })),
    idle_cluster_timeout: Nullable(Type.Integer({ description: "Hours; null: the account's timeout" })),
    idle_cluster_timeout_in_secs: Nullable(Type.Integer({ description: "Takes precedence over the hours" })),
    state: OneOf(CLUSTER_STATES),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Cluster" },
);

export function clusterObject(row: ClusterRow): Static<typeof Cluster> {
  return {
    id: row.id,
    account_id: row.accountId,
    labels: row.labels,
    engine: engineObject(row.engine, row.token !== null),
    spark_config: row.sparkConfig,
    table_formats: [...row.tableFormats],
    environment_id: null,
    pools: poolsObject(row.pools),
    max_concurrent_commands: row.maxConcurrentCommands,
    idle_cluster_timeout: row.idleClusterTimeoutHours,
    idle_cluster_timeout_in_secs: row.idleClusterTimeoutSeconds,
    state: row.state,
    created_at: isoSeconds(row.createdAt),
    updated_at: isoSeconds(row.updatedAt),
  };
}
