import { beforeEach, describe, expect, test } from "vitest";
import { PATIENCE, PROMPT_MS, type Name, type ThreeNodes } from "./three-nodes.ts";

export function testApps({ at, db, ended, createApp, queryOn, appStatuses }: ThreeNodes): void {
  describe("an app whose server runs on another node", () => {
    let appId: number;
    beforeEach(async () => {
      appId = await createApp();
    });
    const statuses = (of?: readonly Name[]): Promise<string[]> => appStatuses(appId, of);

    test("is UP on every node, and a stop on any node ends it together with its queries", async () => {
      const id = await queryOn("runner", appId);
      await expect.poll(() => statuses(), PATIENCE).toEqual(["UP", "UP", "UP"]);
      expect((await at("other").get("/api/v2/apps?per_page=100")).apps.at(-1)).toMatchObject({
        id: appId,
        status: "UP",
      });
      const asked = performance.now();
      expect(await at("third").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ id: appId, status: "DOWN" });
      expect(performance.now() - asked).toBeLessThan(PROMPT_MS);
      expect(await ended(id)).toBe("error");
      expect(await statuses()).toEqual(["DOWN", "DOWN", "DOWN"]);

      // The error is the same as for a stop on the node itself.
      const local = await queryOn("runner", appId);
      await expect.poll(() => statuses(["third"]), PATIENCE).toEqual(["UP"]); // a later command started it again
      expect(await at("runner").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ status: "DOWN" });
      expect(await ended(local)).toBe("error");
      for (const each of [id, local]) {
        const { attempts } = await at("third").get(`/commands/${each}/attempts`);
        expect(attempts).toMatchObject([{ cause: "its Spark server was stopped" }]);
      }
      await expect.poll(() => statuses(), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
    });

    test("is stopped on all nodes at once", async () => {
      const ids = [await queryOn("other", appId), await queryOn("runner", appId)];
      await expect
        .poll(() => db().query("select from app_server where app_id = $1 and is_up", [appId]), PATIENCE)
        .toHaveLength(2);
      await at("third").put(`/api/v2/apps/${appId}/stop`);
      for (const id of ids) expect(await ended(id)).toBe("error");
      await expect.poll(() => statuses(), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
    });

    test("shows UP in the response to a stop while a live node has not ended it", async () => {
      await db().query(
        `insert into node (id, host, boot_id, state, memory_budget_mib, version)
         values ('00000000-0000-4000-8000-000000000001', 'stuck', 'boot', 'paused', 1000, '1')`,
      );
      await db().query(
        `insert into app_server (app_id, node_id, generation, is_up)
         values ($1, '00000000-0000-4000-8000-000000000001', 0, true)`,
        [appId],
      );
      expect(await at("third").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ status: "UP" });
      await db().query("delete from node where host = 'stuck'");
      expect(await statuses()).toEqual(["DOWN", "DOWN", "DOWN"]);
    });
  });
}
