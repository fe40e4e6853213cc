import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { claim, listHeld } from "./claims.ts";

const given = useServer();

test("a command has the heap that its app configures when it is claimed, and when the next server adopts it", async () => {
  const { db } = given.app.services;
  const account = await given.account();
  const { accountId } = account;
  const { id: appId } = await account.post("/api/v2/apps", { name: "a", config: { "spark.driver.memory": "2g" } });
  const { id } = await account.post("/commands", { command_type: "SparkCommand", sql: "select 1", app_id: appId });
  const nodeId = randomUUID();
  await db.system.query(
    `insert into node (id, host, boot_id, memory_budget_mib, version) values ($1, 'own', '', 1000, '1')`,
    [nodeId],
  );
  const caps = { perAccount: 1, perCluster: 1 };
  const claimed = await db.asSystem((tx) => claim(tx, nodeId, { id, accountId }, 100, caps, false));
  expect(claimed).toMatchObject({ id, memoryMiB: 100, configuredHeap: "2g" });
  expect(await listHeld(db.system, nodeId)).toMatchObject([{ id, configuredHeap: "2g" }]);
});
