import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { useOwnSpark } from "../../../test/support/own-spark.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import type { AccountClient } from "../../../test/support/given.ts";
import { partitionsOf, refreshed } from "../../../test/support/refresh.ts";
import { runSql } from "../../../test/support/spark.ts";
import { storageFolder } from "../../accounts/account-storage.ts";

const PATIENCE = { timeout: 120_000, interval: 20 };
const DAYS = 200;
const HOURS = 150;

// Says so when it is left out: Java or Python is not on this machine.
describe.skipIf(sparkIsMissing)("a table refresh", () => {
  const spark = useOwnSpark();
  const client = (): AccountClient => spark.account;

  async function tableOf(name: string): Promise<string[]> {
    const folder = join(storageFolder(spark.dataDir, client().accountId), name);
    await runSql(
      client(),
      `create table ${name} (v string, d int, h int) using csv partitioned by (d, h) location 'file:${folder}'`,
    );
    const names: string[] = [];
    for (let d = 0; d < DAYS; d += 1) {
      for (let h = 0; h < HOURS; h += 1) {
        mkdirSync(join(folder, `d=${d}/h=${h}`), { recursive: true });
        names.push(`d=${d}/h=${h}`);
      }
    }
    return names.sort();
  }

  test.each(["crash", "stop"] as const)(
    "continues after each %s of Headgate, and lists every added partition once",
    async (end) => {
      const table = `survives_${end}`;
      const names = await tableOf(table);
      const { id } = await client().post("/commands", { template: "s3import", db_name: "default", hive_table: table });
      const seen: number[] = [];
      const moved = async (): Promise<void> => {
        const { status, progress } = await client().get(`/commands/${id}`);
        expect(status === "done" || progress > (seen.at(-1) ?? 0)).toBe(true);
        seen.push(progress);
      };
      while (seen.length < 4 && seen.at(-1) !== 100) {
        await vi.waitFor(moved, PATIENCE);
        await spark.node[end]();
        await spark.start();
      }
      expect(seen.length).toBeGreaterThan(1); // it was ended while it ran
      const { added } = await refreshed(client(), id);
      expect(Object.keys(added).sort()).toEqual(names);
      const { text: log } = await client().get(`/commands/${id}/logs`).reply();
      const said = [...log.matchAll(/ added (\S+) at /g)].map(([, name = ""]) => name);
      expect([...new Set(said)].sort()).toEqual(names); // those of which a crash came before the word, too
      const { results } = await client().get(`/commands/${id}/results`);
      expect(results.split("\r\n")).toHaveLength(names.length + 1);
      expect(Object.keys(await partitionsOf(client(), table)).sort()).toEqual(names);
      const { attempts } = await client().get(`/commands/${id}/attempts`);
      expect(attempts).toHaveLength(1);
    },
  );
});
