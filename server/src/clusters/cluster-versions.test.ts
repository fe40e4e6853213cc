import { beforeEach, describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { expectSameRefusals } from "../../test/support/same-refusals.ts";

const given = useSharedServer();
const OLD = "/api/v1.2/clusters";
const NEW = "/api/v2/clusters";
const local = { type: "local" };
const connect = { type: "connect", url: "sc://one.example.com:15002", token: "secret-of-the-default" };

let account: AccountClient;
beforeEach(async () => {
  account = await given.account();
});

async function storedClusters(): Promise<number> {
  const { system } = given.app.services.db;
  return (await system.query("select from cluster where account_id = $1", [account.accountId])).length;
}

describe("a new cluster without engine", () => {
  test.each([
    [OLD, { label: ["x"] }],
    [NEW, { cluster_info: { label: ["x"] } }],
  ])("has the engine of the default cluster, with its token, but not its other settings: %s", async (path, body) => {
    await account.put(`${NEW}/default`, { engine: connect, max_concurrent_commands: 7 });
    await account.post(path, body);
    const cluster = await account.get(`${NEW}/x`);
    expect(cluster).toMatchObject({ engine: { ...connect, token: "********" }, max_concurrent_commands: null });
    const { system } = given.app.services.db;
    const tokens = await system.query("select distinct token from cluster where account_id = $1", [account.accountId]);
    expect(tokens).toEqual([{ token: expect.any(Buffer) }]);
  });

  test("follows the label default to another cluster", async () => {
    await account.post(NEW, {
      labels: ["remote"],
      engine: { type: "standalone", master_url: "spark://one.example.com:7077" },
    });
    await account.put(`${NEW}/reassign-label`, { destination_cluster: "remote", label: "default" });
    expect((await account.post(OLD, { label: "x" })).cluster.engine).toMatchObject({ type: "standalone" });
  });

  test("needs the permission to read the default cluster, as a clone does", async () => {
    const { id } = await account.get(`${NEW}/default`);
    const policy = JSON.stringify([{ access: "deny", action: ["read"] }]);
    await account.put("/object_policy/policy", { source_type: "cluster", source_id: String(id), policy });
    const statement = [{ resource: "cluster", action: ["create"], access: "allow" }];
    const { roles } = await account.post("/roles", { name: "creators", policies: JSON.stringify(statement) });
    await account.post("/groups", { name: "creators", roles: String(roles.id) });
    const member = await given.member(account, { groups: ["creators"] });
    await member.post(OLD, { label: "x" }).refused(403);
    expect(await storedClusters()).toBe(1);
    await member.post(OLD, { label: "x", engine: local });
  });
});

describe("the state of a cluster", () => {
  test.each([
    [
      { type: "standalone", master_url: "spark://one.example.com:7077,two.example.com:7077" },
      ["one.example.com", "two.example.com"],
    ],
    [connect, ["one.example.com"]],
    [{ type: "kubernetes", api_server: "https://one.example.com:6443", image: "spark", namespace: "n" }, []],
  ])("names the masters of the engine: %j", async (engine, hosts) => {
    const { id } = await account.post(NEW, { labels: ["x"], engine });
    for (const version of ["v1.2", "v1.3", "v2"]) {
      expect(await account.get(`/api/${version}/clusters/x/state`)).toMatchObject({
        cluster_id: id,
        state: "DOWN",
        nodes: hosts.map((hostname) => ({ role: "master", hostname })),
      });
    }
  });
});

describe("both versions", () => {
  const calls: [method: string, path: string, body?: object][] = [
    ["GET", ""],
    ["GET", "/default"],
    ["GET", "/987654321"],
    ["POST", "", { labels: ["x"], engine: { type: "no-such" } }],
    ["POST", "/default/clone", { labels: [] }],
    ["POST", "/987654321/clone", { labels: ["x"] }],
    ["PUT", "/default", { pools: 5 }],
    ["PUT", "/987654321", {}],
    ["PUT", "/reassign-label", { destination_cluster: "default", label: "no-such" }],
    ["DELETE", "/default"],
    ["GET", "/default/state"],
    ["PUT", "/default/state", { state: "no-such" }],
  ];

  test.each(calls)("admit the same callers and refuse the same requests: %s %s", async (method, path, body) => {
    const callers = [
      account,
      await given.account(),
      await given.member(account),
      await given.member(account, { groups: ["system-user"] }),
      await given.member(account, { state: "disabled" }),
      given.anonymous(),
    ];
    await expectSameRefusals(callers, method, [`${OLD}${path}`, `${NEW}${path}`], body);
  });
});
