import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { storeCatalog } from "../../../test/support/catalog-rows.ts";
import { useServer } from "../../../test/support/given.ts";

/** The other tests of sensors have the default, text. */
describe("with HEADGATE_SENSOR_STATUS=boolean", () => {
  const given = useServer({ settings: { HEADGATE_SENSOR_STATUS: "boolean" } });

  test.each(["/sensors/file_sensor", "/file_sensor"])("%s answers true or false", async (path) => {
    const account = await given.account();
    const folder = join(given.dataDir, "accounts", String(account.accountId), "storage");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "one"), "x");
    const ask = (name: string, more = {}) => account.post(path, { files: [`file:${folder}/${name}`], ...more }).reply();
    expect((await ask("one")).text).toBe('{"status":true}');
    expect((await ask("two")).text).toBe('{"status":false}');
    expect((await ask("two", { wait_seconds: 1 })).text).toBe('{"status":false}');
    expect((await account.post(path, {}).refused(422)).body.error.error_message).toMatch(/^File list is missing/);
  });

  test.each(["/sensors/partition_sensor", "/partition_sensor"])("%s answers true or false", async (path) => {
    const account = await given.account();
    await storeCatalog(given, account, [{ schema: "default", table: "t", location: "file:/w/t" }]);
    const ask = (day: number, more = {}) => {
      const columns = [{ column: "day", values: [day] }];
      return account.post(path, { schema: "default", table: "t", columns, ...more }).reply();
    };
    expect((await ask(1)).text).toBe('{"status":true}');
    expect((await ask(2)).text).toBe('{"status":false}');
    expect((await ask(2, { wait_seconds: 1 })).text).toBe('{"status":false}');
  });
});
