import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { refresh, refreshed } from "../../../test/support/refresh.ts";
import { silenceClock } from "../../../test/support/silence-clock.ts";

/** No Spark is set up here: queries would wait forever. */
const silence = silenceClock();
const given = useServer({ silenceClock: silence.now, settings: { HEADGATE_LEASE_SECONDS: "5" } });
const MISSING = "the table default.orders is not in the metastore: create it first";

test("a refresh in an account that never used Spark fails at once: there is no such table", async () => {
  const account = await given.account();
  const { id, log } = await refresh(account, "orders", {}, "error");
  expect(log).toContain(MISSING);
  expect(await account.get(`/commands/${id}`)).toMatchObject({ start_time: expect.any(String), num_result_dir: 0 });
  expect(await account.get(`/commands/${id}/jobs`)).toEqual([]);
});

test("a refresh does not start the cluster that it names", async () => {
  const account = await given.account();
  await account.post("/api/v2/clusters", {
    labels: ["far"],
    engine: { type: "standalone", master_url: "spark://127.0.0.1:1" },
  });
  const { log } = await refresh(account, "orders", { label: "far" }, "error");
  expect(log).toContain(MISSING);
  expect(await account.get("/api/v2/clusters/far/state")).toMatchObject({ state: "DOWN" });
});

test("a refresh whose node has fallen silent is begun again by another node, in the same attempt", async () => {
  const [account, operator] = [await given.account(), await given.operator()];
  const { nodes } = await operator.get("/api/v2/nodes");
  const own = nodes[0].id;
  await operator.put(`/api/v2/nodes/${own}`, { state: "paused" });
  const { id } = await account.post("/commands", { template: "s3import", db_name: "default", hive_table: "orders" });
  const silent = randomUUID();
  const { system } = given.app.services.db;
  await system.query(
    `insert into node (id, host, boot_id, memory_budget_mib, version)
     values ($1, 'other', 'boot', 1000, '1')`,
    [silent],
  );
  await system.query(
    `update command set status = 'running', node_id = $2, fence = 1, attempt = 1, start_time = now(),
       handle = '{"kind":"refresh"}' where id = $1`,
    [id, silent],
  );
  silence.passes = true;
  await operator.put(`/api/v2/nodes/${own}`, { state: "active" });
  const { log } = await refreshed(account, id, "error");
  expect(log).toContain(MISSING);
  const { attempts } = await account.get(`/commands/${id}/attempts`);
  expect(attempts).toMatchObject([{ number: 1, cause: MISSING }]);
});
