import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { AppServers } from "./app-servers.ts";
import type { SparkScope } from "../execution/spark-scope.ts";

const given = useServer();

interface Fake {
  readonly scope: SparkScope;
  readonly generation: number;
  readonly isUp: boolean;
}

/** Processes of a node that end when they are told to. */
function fakeProcesses(...all: Fake[]) {
  const left = new Set(all);
  const end = (matches: (scope: SparkScope, generation: number) => boolean = () => true): Promise<void> => {
    for (const each of left) if (matches(each.scope, each.generation)) left.delete(each);
    return Promise.resolve();
  };
  return { left, list: () => [...left], stop: end, endUnused: end };
}

async function nodeId(): Promise<string> {
  const [row] = await given.app.services.db.system.query<{ id: string }>(
    `insert into node (id, host, boot_id, memory_budget_mib, version)
     values (gen_random_uuid(), 'other', 'boot', 1000, '1') returning id`,
  );
  return row?.id ?? "";
}

test("a node ends only the servers and waiting drivers of stopped and deleted apps, and reports the rest", async () => {
  const account = await given.account();
  const { accountId } = account;
  const [stopped, kept] = [
    await account.post("/api/v2/apps", { name: "a" }),
    await account.post("/api/v2/apps", { name: "b" }),
  ];
  const of = (appId: number | null, generation = 0, isUp = true): Fake => ({
    scope: { accountId, clusterId: 1, appId },
    generation,
    isUp,
  });
  const servers = fakeProcesses(of(null), of(stopped.id), of(kept.id), of(999_999));
  const standbys = fakeProcesses(of(null), of(stopped.id), of(kept.id), of(999_999));
  const { system: db } = given.app.services.db;
  const id = await nodeId();
  let woken = 0;
  const apps = new AppServers({
    db,
    nodeId: id,
    servers,
    standbys,
    silentNodes: () => [],
    wakeNodes: () => void (woken += 1),
  });
  const reported = () =>
    db.query('select app_id as "appId", generation, is_up as "isUp" from app_server where node_id = $1 order by 1', [
      id,
    ]);

  await apps.reconcile();
  const alive = [of(null), of(stopped.id), of(kept.id)];
  expect([[...servers.left], [...standbys.left]]).toEqual([alive, alive]);
  expect(await reported()).toEqual([
    { appId: stopped.id, generation: 0, isUp: true },
    { appId: kept.id, generation: 0, isUp: true },
  ]);
  expect(await account.get(`/api/v2/apps/${stopped.id}`)).toMatchObject({ status: "UP" });

  // Another node stops the app. Processes that were started for a later generation stay.
  await db.query("update app set generation = generation + 1 where id = $1", [stopped.id]);
  servers.left.add(of(stopped.id, 1, false));
  await apps.reconcile();
  expect([...servers.left]).toEqual([of(null), of(kept.id), of(stopped.id, 1, false)]);
  expect([...standbys.left]).toEqual([of(null), of(kept.id)]);
  expect(await reported()).toEqual([
    { appId: stopped.id, generation: 1, isUp: false },
    { appId: kept.id, generation: 0, isUp: true },
  ]);
  expect(await apps.listUp(accountId, [stopped.id, kept.id])).toEqual(new Set([kept.id]));
  expect(await account.get(`/api/v2/apps/${stopped.id}`)).toMatchObject({ status: "DOWN" });

  // The response to a stop waits for the report of this node.
  const answer = account.put(`/api/v2/apps/${kept.id}/stop`).reply();
  await expect
    .poll(async () => {
      await apps.reconcile();
      return [...servers.left];
    })
    .toEqual([of(null), of(stopped.id, 1, false)]);
  expect((await answer).body).toMatchObject({ id: kept.id, status: "DOWN" });
  await apps.stop(kept.id);
  expect(woken).toBe(1);
});
