import { beforeAll, describe, expect, test } from "vitest";
import { adminHere, urlOf, type AdminCli } from "../../test/support/admin-cli.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { byOperator, operatorAudit } from "../../test/support/operator-audit.ts";

const given = useServer();
let admin: AdminCli;
let first: AccountClient;

beforeAll(async () => {
  admin = adminHere({ DATABASE_URL: urlOf(given.database), HEADGATE_DATA_DIR: given.dataDir });
  first = await given.operator();
});

const auditOf = (accountId: number): Promise<object[]> => operatorAudit(given.app.services.db.system, accountId);

describe("nodes", () => {
  test("are paused, drained and resumed by id, with an audit row each, and status shows their state", async () => {
    await expect.poll(() => first.get("/api/v2/nodes")).toMatchObject({ nodes: [{ state: "active" }] });
    const [node] = await admin.json("node-list");
    expect(node).toMatchObject({ state: "active", running: 0, host: expect.any(String) });
    expect(await admin.run("node-pause", node.id)).toBe(`Node ${node.id} is paused.\n`);
    expect(await admin.json("status")).toMatchObject({ nodes: [`${node.host} ${node.id} paused`] });
    await admin.run("node-drain", node.id);
    await expect.poll(() => first.get("/api/v2/nodes")).toMatchObject({ nodes: [{ state: "drained" }] });
    await admin.run("node-resume", node.id);
    expect(await admin.json("node-list")).toMatchObject([{ id: node.id, state: "active" }]);
    expect((await auditOf(first.accountId)).slice(-3)).toEqual([
      byOperator("node_edit", `node/${node.id}/paused`),
      byOperator("node_edit", `node/${node.id}/draining`),
      byOperator("node_edit", `node/${node.id}/active`),
    ]);
  });

  test("with an unknown id are refused", async () => {
    const [unknown, wrong] = await Promise.all([
      admin.refused("node-pause", "00000000-0000-4000-8000-000000000000"),
      admin.refused("node-pause", "1"),
    ]);
    expect(unknown).toMatch(/^There is no node 00000000-/);
    expect(wrong).toMatch(/node-list lists/);
  });
});
