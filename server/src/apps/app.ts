/**
 * A Spark configuration that commands select by `app_id` (§4.3). On each node that runs SQL of the app, its queries
 * share one warm server; the app is UP while such a server responds on any node.
 */
import { Type, type Static } from "typebox";
import { SPARK_CONFIG_VALUE_LENGTH } from "../engines/spark-submit/spark-config.ts";
import { Id, OneOf, StringMap, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import type { AppRow } from "./store.ts";

export const App = Type.Object(
  {
    id: Id,
    name: Type.String(),
    config: Type.Unsafe<Readonly<Record<string, string>>>(Type.Object({}, { additionalProperties: Type.String() })),
    kind: OneOf(["spark"]),
    status: OneOf(["UP", "DOWN"], { description: "UP: its warm server runs on at least one node" }),
    created_at: Timestamp,
  },
  { title: "App" },
);

/** For a new app. */
export const AppBody = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: 255,
    description: "Need not be unique; no control characters, at least one visible character",
    examples: ["reports"],
  }),
  config: Type.Optional(
    StringMap({
      maxLength: SPARK_CONFIG_VALUE_LENGTH,
      description: "Spark properties, except those that the server sets itself",
      examples: [{ "spark.sql.shuffle.partitions": "8" }],
    }),
  ),
  kind: Type.Optional(OneOf(["spark"])),
});

export const AppParams = Type.Object({ app_id: Id });

export function appObject(row: AppRow, isUp: boolean): Static<typeof App> {
  return {
    id: row.id,
    name: row.name,
    config: row.config,
    kind: row.kind,
    status: isUp ? "UP" : "DOWN",
    created_at: isoSeconds(row.createdAt),
  };
}
