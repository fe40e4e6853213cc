import { expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { endUnusedProcesses } from "./cluster-control.ts";
import type { SparkScope } from "../execution/spark-scope.ts";

const given = useServer();

async function newCluster(account: AccountClient, label: string, state: string): Promise<number> {
  const { id } = await account.post("/api/v2/clusters", { labels: [label], engine: { type: "local" } });
  await given.app.services.db.system.query("update cluster set state = $2 where id = $1", [id, state]);
  return id;
}

test("processes that wait for commands end with their cluster or app, and others go on", async () => {
  const account = await given.account();
  const { accountId } = account;
  const [up, pending, terminating, down, deleted] = await Promise.all([
    newCluster(account, "up", "UP"),
    newCluster(account, "pending", "PENDING"),
    newCluster(account, "terminating", "TERMINATING"),
    newCluster(account, "down", "DOWN"),
    newCluster(account, "deleted", "DOWN"),
  ]);
  await account.delete("/api/v2/clusters/deleted");
  const { id: appId } = await account.post("/api/v2/apps", { name: "kept" });
  const at = (clusterId: number, app: number | null = null): SparkScope => ({ accountId, clusterId, appId: app });
  const waiting = [at(up), at(pending), at(up, appId), at(up, 999_999), at(terminating), at(down, appId), at(deleted)];
  const left = new Set(waiting);
  await endUnusedProcesses(given.app.services.db.system, [
    {
      unusedScopes: () => [...left],
      endUnused(matches) {
        for (const scope of left) if (matches(scope)) left.delete(scope);
        return Promise.resolve();
      },
    },
  ]);
  expect([...left]).toEqual([at(up), at(pending), at(up, appId)]);
});
