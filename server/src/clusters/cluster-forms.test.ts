import { beforeEach, describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";

const given = useSharedServer();
const OLD = "/api/v1.2/clusters";
const NEW = "/api/v2/clusters";
const local = { type: "local" };

let account: AccountClient;
beforeEach(async () => {
  account = await given.account();
});

async function storedClusters(): Promise<number> {
  const { system } = given.app.services.db;
  return (await system.query("select from cluster where account_id = $1", [account.accountId])).length;
}

async function addClusters(count: number): Promise<void> {
  await given.app.services.db.system.query(
    `with made as (insert into cluster (account_id, engine, spark_config)
                   select $1, '{"type":"local"}', jsonb_build_object('spark.x', repeat('é', 500))
                     from generate_series(1, $2::int) returning id)
     insert into cluster_label (account_id, label, cluster_id) select $1, 'n' || id, id from made`,
    [account.accountId, count],
  );
}

describe("GET /api/v1.2/clusters", () => {
  test.each(["", "?", "/", ".json"])(
    "is an array of clusters in envelopes, also with %j at the end",
    async (suffix) => {
      const { clusters } = await account.get(NEW);
      expect(await account.get(`${OLD}${suffix}`)).toEqual([{ cluster: { ...clusters[0], label: ["default"] } }]);
    },
  );

  test("has all clusters, in the order of their creation, however many there are", async () => {
    await addClusters(250);
    const { headers, body } = await account.get(OLD).reply();
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(body).toHaveLength(251);
    const pages = await Promise.all([1, 2, 3].map((page) => account.get(`${NEW}?per_page=100&page=${page}`)));
    const clusters = pages.flatMap((page) => page.clusters);
    expect(body).toEqual(clusters.map((cluster) => ({ cluster: { ...cluster, label: cluster.labels } })));
  });

  test("does not end a batch early or late when the last batch is full", async () => {
    await addClusters(199);
    const all: { cluster: { id: number } }[] = await account.get(OLD);
    expect(new Set(all.map(({ cluster }) => cluster.id)).size).toBe(200);
  });

  test("has a page if the query asks for one; past the end it is empty", async () => {
    await addClusters(3);
    const labelsOf = async (query: string): Promise<unknown[]> =>
      ((await account.get(`${OLD}?${query}`)) as { cluster: { id: number } }[]).map(({ cluster }) => cluster.id);
    const ids = await labelsOf("page=1");
    expect(ids).toHaveLength(4);
    expect(await labelsOf("page=2&per_page=3")).toEqual(ids.slice(3));
    expect(await labelsOf("per_page=2")).toEqual(ids.slice(0, 2));
    expect(await labelsOf("page=9")).toEqual([]);
    await account.get(`${OLD}?page=0`).refused(422, /^page must be at least 1/);
    await account.get(`${OLD}?per_page=101`).refused(422, /^per_page must be at most 100/);
  });

  test("has only the clusters that the caller may read, in every batch", async () => {
    await addClusters(150);
    const member = await given.member(account, { groups: ["system-user"] });
    const all: { cluster: { id: number } }[] = await account.get(OLD);
    const hidden = [all[3], all[120]].map((each) => each?.cluster.id);
    for (const id of hidden) {
      const policy = [{ access: "deny", action: ["read"] }];
      await account.put("/object_policy/policy", {
        source_type: "cluster",
        source_id: String(id),
        policy: JSON.stringify(policy),
      });
    }
    const seen: { cluster: { id: number } }[] = await member.get(OLD);
    expect(seen.map(({ cluster }) => cluster.id)).toEqual(
      all.map(({ cluster }) => cluster.id).filter((id) => !hidden.includes(id)),
    );
  });

  test("shows nothing of another account", async () => {
    await addClusters(120);
    expect(await (await given.account()).get(OLD)).toHaveLength(1);
  });
});

describe("a single cluster in v1.2", () => {
  test.each([
    ["GET", "/default", undefined],
    ["GET", "/default.json", undefined],
    ["PUT", "/default", { max_concurrent_commands: 2 }],
    ["PUT", "/reassign-label", { destination_cluster: "default", label: "default" }],
  ])("is in an envelope: %s %s", async (method, path, body) => {
    const reply = await account.call(method, `${OLD}${path}`, body);
    const cluster = await account.get(`${NEW}/default`);
    expect(reply).toEqual({ cluster: { ...cluster, label: ["default"] } });
  });

  test.each([
    ["POST", "", { label: ["jc872"] }],
    ["POST", "", { label: "jc872" }],
    ["POST", "", { labels: ["jc872"], engine: local }],
    ["POST", "", { cluster: { label: ["jc872"] } }],
    ["POST", "", { cluster: { labels: ["jc872"] } }],
    ["POST", "", { cluster_info: { label: ["jc872"] }, engine_config: { flavour: "spark" } }],
    ["POST", "/default/clone", { cluster: { label: ["jc872"] } }],
    ["POST", "/default/clone", { label: ["jc872"] }],
    ["POST", "/default/clone", { cluster_info: { label: ["jc872"] } }],
    ["PUT", "/default", { cluster: { label: ["default", "jc872"] } }],
    ["PUT", "/default", { cluster_info: { label: ["jc872", "default"] } }],
  ])("takes the body that clients send: %s %s %j", async (method, path, body) => {
    const reply = await account.call(method, `${OLD}${path}`, body);
    expect(reply).toEqual({ cluster: { ...(await account.get(`${NEW}/jc872`)), label: reply.cluster.labels } });
    expect(reply.cluster.label).toContain("jc872");
  });

  test("can be sent back as it was read, and stays the same", async () => {
    const { cluster } = await account.post(OLD, { label: ["a", "b"], spark_config: { "spark.x": "1" } });
    const { updated_at: _, ...same } = cluster;
    expect(await account.put(`${OLD}/a`, { cluster })).toEqual({
      cluster: { ...same, updated_at: expect.any(String) },
    });
  });

  test("a repeated request with the same idempotency key gets the same reply, warnings included", async () => {
    const headers = { "Idempotency-Key": "one-cluster" };
    const body = { cluster: { label: ["once"], hadoop_settings: { max_nodes: 2 } } };
    const first = await account.post(OLD, body, { headers });
    expect(first.warnings).toHaveLength(1);
    expect(await account.post(OLD, body, { headers })).toEqual(first);
    expect(await storedClusters()).toBe(2);
  });

  test.each([
    [{}, /^labels is required/],
    [{ cluster: {} }, /^labels is required/],
    [{ cluster: "x" }, /^cluster must be an object/],
    [{ cluster: { cluster_info: [] } }, /^cluster\.cluster_info must be an object/],
    [{ label: [] }, /^labels must not be empty/],
    [{ label: "" }, /^labels\[0\] must not be empty/],
    [{ label: { a: 1 } }, /^labels\[0\] must be a string/],
    [{ label: "a,b" }, /^labels must not contain a comma/],
    [{ label: ["a"], labels: ["b"] }, /^labels must not have two different values/],
    [{ label: ["a"], cluster: { label: ["b"] } }, /^labels must not have two different values/],
    [{ label: ["a"], cluster_info: { idle_cluster_timeout: 7 } }, /^idle_cluster_timeout must be at most 6/],
    [{ cluster: { label: ["a"], engine: { type: "x" } } }, /^engine\.type must be one of/],
  ])("refuses %j and stores nothing", async (body, message) => {
    await account.post(OLD, body).refused(422, message);
    expect(await storedClusters()).toBe(1);
  });
});

describe("settings that clusters do not have", () => {
  test.each([
    [
      { hadoop_settings: { max_nodes: 3 } },
      [/^hadoop_settings\.max_nodes was ignored: .*maxExecutors in spark_config/],
    ],
    [{ cluster: { hadoop_settings: { max_nodes: 3 } } }, [/^cluster\.hadoop_settings\.max_nodes was ignored/]],
    [{ disallow_cluster_termination: true }, [/^disallow_cluster_termination was ignored: deny terminate/]],
    [{ node_configuration: { idle_cluster_timeout: 1 } }, [/: move idle_cluster_timeout to the top level/]],
    [{ engine_config: { label: ["x"] } }, [/^engine_config\.label was ignored: move label to the top level/]],
    [{ no_such_setting: [1] }, [/^no_such_setting was ignored: clusters have no such setting/]],
    [{ cluster: { cluster: { label: "x" } } }, [/^cluster\.cluster\.label was ignored: move label/]],
    [
      { hadoop_settings: { use_spark: true }, ec2_settings: { compute_access_key: "A-SECRET" } },
      [/^ec2_settings\.compute_access_key was ignored: .*keys of the account/],
    ],
    [{ 'a"b\n': 1 }, [/^"a\\"b\\n" was ignored/]],
  ])("are named in the warnings of v1.2: %j", async (body, expected) => {
    const before = await account.get(`${NEW}/default`);
    const { cluster, warnings } = await account.put(`${OLD}/default`, body);
    expect(warnings).toEqual(expected.map((each) => expect.stringMatching(each)));
    expect(JSON.stringify(warnings)).not.toContain("A-SECRET");
    expect({ ...cluster, updated_at: "" }).toEqual({ ...before, label: before.labels, updated_at: "" });
  });

  test.each([
    { max_concurrent_commands: 3 },
    { no_such_setting: null },
    { hadoop_settings: {} },
    { engine_config: { flavour: "spark", hadoop_settings: { use_spark: true } } },
  ])("there are no warnings if nothing was ignored: %j", async (body) => {
    expect(await account.put(`${OLD}/default`, body)).not.toHaveProperty("warnings");
  });

  test("the properties that warnings recommend are accepted", async () => {
    const { warnings } = await account.put(`${OLD}/default`, { node_configuration: { max_nodes: 4, disk: 1 } });
    const named: string[] = warnings.flatMap((each: string) => each.match(/spark\.[a-zA-Z]+\.[a-zA-Z]+/g) ?? []);
    expect(named).toContain("spark.executor.memory");
    const properties = Object.fromEntries(named.map((name) => [name, name.endsWith("memory") ? "1g" : "1"]));
    await account.put(`${OLD}/default`, { spark_config: properties });
  });

  test.each([
    [51, "1 further field was ignored, too."],
    [60, "10 further fields were ignored, too."],
  ])("are counted if there are as many as %i", async (count, last) => {
    const many = Object.fromEntries(Array.from({ length: count }, (_, at) => [`setting_${at}`, 1]));
    const { warnings } = await account.put(`${OLD}/default`, many);
    expect(warnings).toHaveLength(51);
    expect(warnings.at(-1)).toBe(last);
  });
});

describe("the same bodies in v2", () => {
  const cloud = { compute_config: { compute_access_key: "A", compute_secret_key: "S" } };
  const info = { label: ["cv2"], master_instance_type: "m3.xlarge", min_nodes: 1, max_nodes: 2 };

  test("create, clone and edit a cluster from cluster_info, and name what was ignored", async () => {
    const body = { cloud_config: cloud, engine_config: { flavour: "spark" }, cluster_info: info };
    const { warnings, ...created } = await account.post(NEW, body);
    expect(created).toEqual(await account.get(`${NEW}/cv2`));
    expect(warnings.map((each: string) => each.split(" ")[0])).toEqual([
      "cloud_config.compute_config.compute_access_key",
      "cloud_config.compute_config.compute_secret_key",
      "cluster_info.master_instance_type",
      "cluster_info.min_nodes",
      "cluster_info.max_nodes",
    ]);
    const clone = await account.post(`${NEW}/cv2/clone`, { cluster_info: { label: ["clv2"] } });
    expect(clone).toEqual(await account.get(`${NEW}/clv2`));
    const edited = await account.put(`${NEW}/cv2`, { cluster_info: { idle_cluster_timeout: 1, max_nodes: 4 } });
    expect(edited).toMatchObject({
      idle_cluster_timeout: 1,
      warnings: [expect.stringMatching(/^cluster_info\.max_nodes/)],
    });
  });

  test("in v1.3, label stands for labels and settings of nodes are named", async () => {
    expect(await account.post("/api/v1.3/clusters/default/clone", { label: ["clv13"] })).toEqual(
      await account.get(`${NEW}/clv13`),
    );
    const { warnings } = await account.put("/api/v1.3/clusters/clv13", { node_configuration: { max_nodes: 4 } });
    expect(warnings).toEqual([expect.stringMatching(/^node_configuration\.max_nodes was ignored/)]);
  });

  test("a body of this API gets no warnings, and its unknown keys are ignored", async () => {
    const reply = await account.post(NEW, { labels: ["own"], engine: local, no_such_key: 1 });
    expect(reply).toEqual(await account.get(`${NEW}/own`));
  });

  test.each([{ labels: ["x"] }, { label: ["x"] }, { cluster: { label: ["x"] } }, { labels: ["x"], engine: null }])(
    "%j needs an engine",
    async (body) => {
      await account.post(NEW, body).refused(422, /^engine is required/);
      expect(await storedClusters()).toBe(1);
    },
  );
});
