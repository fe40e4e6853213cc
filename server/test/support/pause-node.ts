import { beforeAll } from "vitest";
import type { Given } from "./given.ts";

/** The server's node claims no command, so that submitted commands stay as they are. */
export function pauseNode(given: Given): void {
  beforeAll(async () => {
    const operator = await given.operator();
    const { nodes } = await operator.get("/api/v2/nodes");
    await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "paused" });
  });
}
