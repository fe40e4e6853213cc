import { Type, type Static } from "typebox";
import { Id, Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import type { ClusterRow } from "./store.ts";

/** Where commands run (decisions §5). */
export const Cluster = Type.Object(
  {
    id: Id,
    account_id: Type.Integer(),
    labels: Type.Array(Type.String(), { description: "Each is unique in the account" }),
    engine: Type.Unsafe<ClusterRow["engine"]>(
      Type.Object({ type: Type.String({ examples: ["local"] }) }, { additionalProperties: true }),
    ),
    spark_config: Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true })),
    environment_id: Nullable(Type.Integer()),
    pools: Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true })),
    max_concurrent_commands: Nullable(Type.Integer({ description: "Null: the deployment's" })),
    idle_cluster_timeout: Nullable(Type.Integer({ description: "Hours; null: the account's" })),
    idle_cluster_timeout_in_secs: Nullable(Type.Integer()),
    state: OneOf(["DOWN", "PENDING", "UP", "TERMINATING"]),
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
    engine: row.engine,
    spark_config: row.sparkConfig,
    environment_id: null,
    pools: row.pools,
    max_concurrent_commands: row.maxConcurrentCommands,
    idle_cluster_timeout: row.idleClusterTimeoutHours,
    idle_cluster_timeout_in_secs: row.idleClusterTimeoutSeconds,
    state: row.state,
    created_at: isoSeconds(row.createdAt),
    updated_at: isoSeconds(row.updatedAt),
  };
}
