import { beforeAll, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";

const given = useServer({ settings: { HEADGATE_HADOOP_CONFS: "prod=/etc/hadoop/prod" } });
const local = { type: "local" };
const connect = { type: "connect", url: "sc://connect.example.com:15002", token: "hunter2-token" };

let account: AccountClient;
beforeAll(async () => {
  account = await given.account();
});

async function stored(of: AccountClient): Promise<number> {
  const rows = await given.app.services.db.system.query("select from cluster where account_id = $1", [of.accountId]);
  return rows.length;
}

describe("POST /api/v2/clusters", () => {
  test("returns the new cluster with all its settings, DOWN", async () => {
    const cluster = await account.post("/api/v2/clusters", {
      labels: ["nightly", "etl", "etl"],
      engine: {
        type: "kubernetes",
        api_server: "https://k8s.example.com:6443/",
        image: "spark:4.1",
        namespace: "team",
      },
      spark_config: { "spark.sql.shuffle.partitions": 8, "spark.driver.memory": "2g" },
      pools: { reports: { weight: "3", min_share: 2 }, adhoc: {} },
      max_concurrent_commands: "4",
      idle_cluster_timeout: 0,
    });
    expect(cluster).toEqual({
      id: expect.any(Number),
      account_id: account.accountId,
      labels: ["etl", "nightly"],
      engine: { type: "kubernetes", api_server: "https://k8s.example.com:6443", image: "spark:4.1", namespace: "team" },
      spark_config: { "spark.sql.shuffle.partitions": "8", "spark.driver.memory": "2g" },
      table_formats: [],
      environment_id: null,
      pools: { reports: { weight: 3, min_share: 2 }, adhoc: { weight: 1, min_share: 0 } },
      max_concurrent_commands: 4,
      idle_cluster_timeout: 0,
      idle_cluster_timeout_in_secs: null,
      state: "DOWN",
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    expect(await account.get("/api/v2/clusters/nightly")).toEqual(cluster);
    expect(await account.get(`/api/v2/clusters/${cluster.id}`)).toEqual(cluster);
  });

  test("accepts every engine; loopback is allowed if the server itself is on loopback", async () => {
    const engines = [
      { type: "standalone", master_url: "spark://127.0.0.1:7077" },
      { type: "yarn", hadoop_conf: "prod" },
      { type: "connect", url: "sc://localhost:15002" },
    ];
    for (const engine of engines) {
      expect((await account.post("/api/v2/clusters", { labels: [`of-${engine.type}`], engine })).engine).toEqual(
        engine,
      );
    }
  });

  test("a token is stored sealed, and only its mask is shown", async () => {
    const { id, engine } = await account.post("/api/v2/clusters", { labels: ["remote"], engine: connect });
    expect(engine).toEqual({ ...connect, token: "********" });
    const rows = await given.app.services.db.system.query<{ row: string; token: Buffer }>(
      "select c::text as row, token from cluster c where id = $1",
      [id],
    );
    expect(rows[0]?.row).not.toContain("hunter2");
    expect(rows[0]?.token.includes("hunter2")).toBe(false);
    expect(JSON.stringify(await account.get("/api/v2/clusters"))).not.toContain("hunter2");
  });

  test("the same idempotency key creates it once", async () => {
    const headers = { "Idempotency-Key": "one-cluster" };
    const body = { labels: ["once"], engine: local };
    const first = await account.post("/api/v2/clusters", body, { headers });
    expect(await account.post("/api/v2/clusters", body, { headers })).toEqual(first);
  });

  test("a label of another cluster is refused with 409, and nothing is stored", async () => {
    const own = await given.account();
    await own.post("/api/v2/clusters", { labels: ["taken"], engine: local });
    const before = await stored(own);
    for (const labels of [["default"], ["fresh", "taken"]]) {
      await own
        .post("/api/v2/clusters", { labels, engine: local })
        .refused(409, /already has the label (default|taken)\.$/);
    }
    expect(await stored(own)).toBe(before);
    await own.get("/api/v2/clusters/fresh").refused(404);
    const other = await given.account();
    await other.post("/api/v2/clusters", { labels: ["taken"], engine: local });
  });

  test("concurrent requests with the same label create one cluster", async () => {
    const own = await given.account();
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => own.post("/api/v2/clusters", { labels: ["race"], engine: local }).reply()),
    );
    expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(["200", "409", "409", "409"]);
    expect(await stored(own)).toBe(2);
  });

  test.each([
    [{ labels: null }, /^labels is required/],
    [{ engine: null }, /^engine is required/],
    [{ labels: [] }, /^labels must not be empty$/],
    [{ engine: {} }, /^engine\.type is required/],
    [{ engine: { type: "mesos" } }, /^engine\.type must be one of local, standalone/],
    [{ engine: "local" }, /^engine must be an object/],
    [{ labels: [""] }, /^labels\[0\] must not be empty/],
    [{ labels: ["x".repeat(256)] }, /^labels\[0\] must have at most 255/],
    [{ labels: Array.from({ length: 51 }, (_, at) => `l${at}`) }, /^labels must have at most 50/],
    [{ labels: ["123"] }, /^labels must not consist only of digits/],
    [{ labels: ["a,b"] }, /^labels must not contain a comma/],
    [{ labels: [" a"] }, /^labels must not start or end with white space/],
    [{ labels: ["a\nb"] }, /^labels must not contain control/],
    [{ labels: ["reassign-label"] }, /^labels must not be reassign-label/],
    [{ engine: { type: "yarn", hadoop_conf: "/etc/hadoop/prod" } }, /^engine\.hadoop_conf must be the name of/],
    [{ engine: { type: "standalone", master_url: "spark://10.0.0.1:7077" } }, /^engine\.master_url must not be in/],
    [{ engine: { type: "connect", url: "sc://169.254.169.254:80" } }, /^engine\.url must not be a link-local/],
    [{ engine: { type: "local", token: "t" } }, /^engine\.token must not be given/],
    [{ spark_config: { "spark.ui.port": "1" } }, /^spark_config may not set spark\.ui\.port/],
    [{ spark_config: { "spark.master": "local" } }, /^spark_config may not set spark\.master/],
    [{ spark_config: { "spark.a": true } }, /^spark_config\.spark\.a must be a string/],
    [{ spark_config: { "spark.a": "x".repeat(8193) } }, /^spark_config\.spark\.a must have at most 8192/],
    [{ spark_config: [] }, /^spark_config must be an object/],
    [{ pools: { "a b": {} } }, /^pools must have names/],
    [{ pools: { a: { weight: 0 } } }, /^pools\.a\.weight must be at least 1/],
    [{ pools: { a: { min_share: -1 } } }, /^pools\.a\.min_share must be at least 0/],
    [{ pools: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`p${at}`, {}])) }, /^pools must have at most/],
    [{ max_concurrent_commands: 0 }, /^max_concurrent_commands must be at least 1/],
    [{ max_concurrent_commands: "0" }, /^max_concurrent_commands must be at least 1/],
    [{ max_concurrent_commands: 100_001 }, /^max_concurrent_commands must be at most 100000/],
    [{ max_concurrent_commands: "many" }, /^max_concurrent_commands must be an integer/],
    [{ idle_cluster_timeout: 7 }, /^idle_cluster_timeout must be at most 6/],
    [{ idle_cluster_timeout: -1 }, /^idle_cluster_timeout must be at least 0/],
    [{ idle_cluster_timeout_in_secs: 299 }, /^idle_cluster_timeout_in_secs must be at least 300/],
    [{ idle_cluster_timeout_in_secs: 600 }, /^idle_cluster_timeout_in_secs needs the feature aggressive_downscaling/],
    [{ environment_id: 1 }, /^environment_id names no environment/],
  ])("refuses %j and stores nothing", async (part, message) => {
    const before = await stored(account);
    await account.post("/api/v2/clusters", { labels: ["refused"], engine: local, ...part }).refused(422, message);
    expect(await stored(account)).toBe(before);
  });

  test("an idle timeout in seconds is accepted with the feature", async () => {
    const quick = await given.account({ features: ["aggressive_downscaling"] });
    const body = { labels: ["quick"], engine: local, idle_cluster_timeout_in_secs: 300 };
    expect(await quick.post("/api/v2/clusters", body)).toMatchObject({ idle_cluster_timeout_in_secs: 300 });
  });

  test("an account has at most 500 clusters", async () => {
    const full = await given.account();
    await given.app.services.db.system.query(
      `insert into cluster (account_id, engine) select $1, '{"type":"local"}' from generate_series(1, 498)`,
      [full.accountId],
    );
    await full.post("/api/v2/clusters", { labels: ["last"], engine: local });
    await full
      .post("/api/v2/clusters", { labels: ["more"], engine: local })
      .refused(422, /^labels cannot be added: an account can have at most 500 clusters/);
    await full
      .post("/api/v2/clusters/last/clone", { labels: ["more"] })
      .refused(422, /^labels cannot be added: an account can have at most 500 clusters/);
    await full.delete("/api/v2/clusters/last");
    await full.post("/api/v2/clusters", { labels: ["more"], engine: local });
  });

  test("is refused without the group system-admin or a role that allows it", async () => {
    const member = await given.member(account, { groups: ["system-user"] });
    await member.post("/api/v2/clusters", { labels: ["mine"], engine: local }).refused(403, /cluster:create/);
  });
});

describe("POST /api/v2/clusters/<id or label>/clone", () => {
  test("copies the settings and the token of the original, except for those in the body", async () => {
    const original = await account.post("/api/v2/clusters", {
      labels: ["original"],
      engine: connect,
      spark_config: { "spark.sql.ansi.enabled": "true" },
      pools: { a: {} },
      max_concurrent_commands: 3,
    });
    const clone = await account.post("/api/v2/clusters/original/clone", {
      labels: ["copy"],
      max_concurrent_commands: 5,
    });
    const { id, created_at, updated_at } = clone;
    expect(clone).toEqual({ ...original, id, created_at, updated_at, labels: ["copy"], max_concurrent_commands: 5 });
    expect(id).not.toBe(original.id);
    const rows = await given.app.services.db.system.query("select distinct token from cluster where id = any ($1)", [
      [id, original.id],
    ]);
    expect(rows).toHaveLength(1);
  });

  test("never sends the token to another address", async () => {
    const elsewhere = { ...connect, url: "sc://other.example.com:15002" };
    await account.post("/api/v2/clusters", { labels: ["guarded"], engine: connect });
    for (const token of [undefined, "", "********"]) {
      await account
        .post("/api/v2/clusters/guarded/clone", { labels: ["stolen"], engine: { ...elsewhere, token } })
        .refused(422, /^engine\.token must be given again/);
    }
    await account.get("/api/v2/clusters/stolen").refused(404);
    await account.post("/api/v2/clusters/guarded/clone", {
      labels: ["moved"],
      engine: { ...elsewhere, token: "another" },
    });
  });

  test("the secret of a standalone cluster is copied under the same rules", async () => {
    const engine = { type: "standalone", master_url: "spark://spark.example.com:7077", token: "workers know it" };
    const made = await account.post("/api/v2/clusters", { labels: ["with a secret"], engine });
    expect(made.engine).toEqual({ ...engine, token: "********" });
    const elsewhere = { ...made.engine, master_url: "spark://other.example.com:7077" };
    await account
      .post("/api/v2/clusters/with a secret/clone", { labels: ["stolen"], engine: elsewhere })
      .refused(422, /^engine\.token must be given again/);
    const [row] = await given.app.services.db.system.query<{ token: Buffer }>(
      "select token from cluster where id = $1",
      [made.id],
    );
    expect(row?.token.includes("workers know it")).toBe(false);
  });

  test("needs labels of its own", async () => {
    await account.post("/api/v2/clusters/default/clone").refused(422, /^labels is required/);
    await account
      .post("/api/v2/clusters/default/clone", { labels: ["default"] })
      .refused(409, /already has the label default/);
    await account.post("/api/v2/clusters/987654321/clone", { labels: [] }).refused(404);
  });
});
