import { expect, test } from "vitest";
import { makePath } from "./support/folders.ts";
import { useServer } from "./support/given.ts";
import { submitProgram } from "./support/programs.ts";
import { stubDriver } from "./support/stub-driver.ts";

const given = useServer({ driver: stubDriver, settings: { HEADGATE_LEASE_SECONDS: "10" } }); // beats twice a second
const PATIENCE = { timeout: 30_000 };

test("after a failover of PostgreSQL, ids that were given out before it are not given out again", async () => {
  const account = await given.account();
  const { system } = given.app.services.db;
  const noted = (): Promise<{ timeline: number | null }[]> => system.query("select timeline from node");
  await expect.poll(noted, PATIENCE).toEqual([{ timeline: expect.any(Number) }]);
  const [before] = await noted();
  const id = await submitProgram(account, "true");
  const folder = await makePath(account, "Common", ["one"]);
  await system.query("update node set timeline = timeline + 1"); // the current one is another then
  await expect.poll(noted, PATIENCE).toEqual([before]);
  expect(await submitProgram(account, "true")).toBeGreaterThan(id + 10_000);
  expect((await makePath(account, "Common", ["two"])).id).toBeGreaterThan(folder.id + 10_000);
  const last = await submitProgram(account, "true"); // once for each failover
  expect(await submitProgram(account, "true")).toBeLessThan(last + 10_000);
});
