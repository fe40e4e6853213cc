import { Type, type Static } from "typebox";
import { Id, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import type { AppRow } from "./store.ts";

/**
 * A configuration of Spark that commands name by `app_id` (§4.3). Its SQL shares a warm server of its own on each node
 * that runs some of it; the app is UP while a node has one.
 */
export const App = Type.Object(
  {
    id: Id,
    name: Type.String(),
    config: Type.Unsafe<Readonly<Record<string, string>>>(Type.Object({}, { additionalProperties: Type.String() })),
    kind: OneOf(["spark"]),
    status: OneOf(["UP", "DOWN"], { description: "UP: its warm server runs, on whichever node" }),
    created_at: Timestamp,
  },
  { title: "App" },
);

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
