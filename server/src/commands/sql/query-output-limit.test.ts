import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { renderQuery, type StubQuery } from "../../../test/chaos/query-journal.ts";
import { SparkServer } from "../../../test/chaos/spark-server.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { commandFiles } from "../execution/command-files.ts";

const given = useServer({ settings: { HEADGATE_OUTPUT_LIMIT: "1m" } });
const CAUSE = "too much output: HEADGATE_OUTPUT_LIMIT allows 1m, so it has no result";

describe("the result of a query", () => {
  let folder: string;
  let spark: SparkServer;
  let account: AccountClient;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "headgate-output-limit-"));
    spark = new SparkServer(join(folder, "queries"));
    await spark.start();
    account = await given.account();
    await account.post("/api/v2/clusters", { labels: ["stub"], engine: { type: "connect", url: spark.url } });
  });
  afterAll(async () => {
    await spark.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  async function endOf(...queries: Partial<StubQuery>[]): Promise<{ id: number; status: string }> {
    const all = queries.map((query) => renderQuery({ key: "key", ticks: 0, fails: false, ...query }));
    const sql = all.join(";\n");
    const { id } = await account.post("/commands", { command_type: "SparkCommand", sql, label: "stub" });
    return account.get(`/commands/${id}?wait_seconds=45`);
  }

  const spooled = (id: number): string[] =>
    readdirSync(commandFiles(given.dataDir, account.accountId, id).attempt(1).folder).filter((name) =>
      name.startsWith("result-"),
    );

  test("is whole within HEADGATE_OUTPUT_LIMIT", async () => {
    const { id, status } = await endOf({ longRows: 3 });
    expect(status).toBe("done");
    const { results } = await account.get(`/commands/${id}/results`);
    expect(results.split("\r\n").map((row: string) => row.indexOf("\t"))).toEqual([262_144, 262_144, 262_144, 3, -1]);
  });

  test.each([
    ["a query", [{ longRows: 5 }]],
    ["a script, after a small one,", [{}, { longRows: 5 }]],
  ])("that is larger ends %s as error, and nothing of it is kept", async (_, queries) => {
    const { id, status } = await endOf(...queries);
    expect(status).toBe("error");
    expect((await account.get(`/commands/${id}/attempts`)).attempts).toMatchObject([{ cause: CAUSE }]);
    expect((await account.get(`/commands/${id}/error_logs`)).error_log).toContain(`headgate: ${CAUSE}`);
    for (const query of ["", "?format=raw", "?format=arrow"]) {
      await account.get(`/commands/${id}/results${query}`).refused(422);
    }
    const last = `result-${queries.length - 1}.`;
    await expect.poll(() => spooled(id).filter((name) => name.startsWith(last))).toEqual([]);
  });
});
