/**
 * Requests of unmodified clients of the original interface (two SDKs, a command line, Airflow operators and sensors, a
 * query tool), and what each of them does with the answer. They are written with the prefix `svc`; the suite sends them
 * with the deployment's. `N` is an id, `EMAIL` that of a user.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeCatalog } from "./support/catalog-rows.ts";
import type { Reply } from "./support/client.ts";
import { useServer, type AccountClient, type Given } from "./support/given.ts";
import { givenQuery, textRows } from "./support/queried-rows.ts";
import { sendAs } from "./support/raw-request.ts";

type Answer = Reply["body"];

interface Known {
  readonly clusterId: number;
  readonly commandId: number;
  readonly groupId: number;
  readonly pendingEmail: string;
  /** The answer to another request. */
  readonly get: (path: string) => Promise<Answer>;
}

type Exchange = readonly [request: string, reads: string, check: (answer: Answer, known: Known) => unknown];

const COLUMNS = [
  { name: "ht_column", type: "bigint" },
  { name: "dt", type: "string" },
];

const isFalse = ({ status }: Answer) => expect(Boolean(status)).toBe(false);
const isTrue = ({ status }: Answer) => expect(Boolean(status)).toBe(true);

/** Every element of the answer to a list of clusters is read like this. */
function readsCluster({ cluster }: Answer): number {
  expect(cluster).toMatchObject({ id: expect.any(Number), state: expect.any(String) });
  expect(cluster.label).toEqual(expect.arrayContaining([expect.any(String)]));
  return cluster.id;
}

const clusters = (answer: Answer, { clusterId }: Known) => expect(answer.map(readsCluster)).toContain(clusterId);
const isClusterN = (answer: Answer, { clusterId }: Known) => expect(readsCluster(answer)).toBe(clusterId);
const isDefaultCluster = (answer: Answer) => {
  readsCluster(answer);
  expect(answer.cluster.label).toEqual(["default"]);
};

/** A client that sends settings that clusters do not have learns about each of them. */
function warns({ warnings = [] }: Answer, ignored: readonly string[]): void {
  for (const field of ignored) expect(warnings).toContainEqual(expect.stringContaining(field));
  if (ignored.length === 0) expect(warnings).toEqual([]);
  for (const warning of warnings) expect(warning).not.toMatch(/\b[AS]\b/); // the values of keys in the requests
}

const newCluster =
  (label: string, ignored: readonly string[] = []) =>
  async (answer: Answer, { get }: Known) => {
    const id = readsCluster(answer);
    expect(answer.cluster.label).toEqual([label]);
    warns(answer, ignored);
    expect(await get(`/api/v2/clusters/${label}`)).toMatchObject({ id, labels: [label], engine: { type: "local" } });
  };

const editedCluster = (ignored: readonly string[]) => (answer: Answer, known: Known) => {
  isClusterN(answer, known);
  warns(answer, ignored);
};

const clusterOfV2 =
  (label: string, ignored: readonly string[] = []) =>
  (answer: Answer) => {
    expect(answer).toMatchObject({ id: expect.any(Number), labels: [label], engine: { type: "local" } });
    warns(answer, ignored);
  };

function state(answer: Answer, { clusterId }: Known): void {
  expect(answer).toMatchObject({ cluster_id: clusterId, state: expect.stringMatching(/^(DOWN|PENDING|UP)$/) });
  const master = answer.nodes.find(({ role }: { role: string }) => role === "master");
  expect(master).toMatchObject({ hostname: expect.any(String) }); // of a local cluster
}

const sameAs =
  (path: string) =>
  async (answer: Answer, { get, clusterId }: Known) =>
    expect(answer).toEqual(await get(path.replace("/N", `/${clusterId}`)));

const describedSchemas = ({ schemas, paging_info: paging }: Answer) => {
  expect(schemas).toEqual({ default: [{ ht: { columns: COLUMNS } }] });
  expect(paging).toMatchObject({ previous_page: null, next_page: null });
};

const location = (answer: Answer, { commandId }: Known) =>
  expect(answer).toEqual({ inline: false, result_location: [expect.stringMatching(`/${commandId}/results$`)] });

const SENSORS: readonly Exchange[] = [
  [
    'POST /api/v1.2/sensors/partition_sensor {"schema": "default", "table": "ht", "columns": [{"column": "dt", "values": ["2030-01-01"]}]}',
    "the truth of status; any text is true",
    isFalse,
  ],
  [
    'POST /api/v1.2/sensors/partition_sensor {"schema": "default", "table": "ht", "columns": [{"column": "dt", "values": ["2026-11-15"]}]}',
    "the truth of status, for a partition that exists",
    isTrue,
  ],
  ['POST /api/v1.2/sensors/file_sensor {"files": ["s3://bkt/in/"]}', "the truth of status", isFalse],
  ['POST /api/v1.2/sensors/file_sensor {"files": ["s3://bkt/out/"]}', "the truth, for a folder that exists", isTrue],
];

const CLUSTERS: readonly Exchange[] = [
  ["GET /api/v1.2/clusters", "an array; cluster.id, cluster.state and cluster.label of each", clusters],
  ["GET /api/v1.2/clusters?", "the same", clusters],
  ["GET /api/v1.2/clusters/N", "cluster.…", isClusterN],
  ["GET /api/v1.2/clusters/N.json", "cluster.…", isClusterN],
  ["GET /api/v1.2/clusters/default", "cluster.…", isDefaultCluster],
  ['POST /api/v1.2/clusters {"label":["jc872"]}', "cluster.id", newCluster("jc872")],
  [
    'POST /api/v1.2/clusters {"label":["je398"],"hadoop_settings":{"use_spark":true},"ec2_settings":{"compute_access_key":"A"}}',
    "cluster.id",
    newCluster("je398", ["ec2_settings.compute_access_key"]),
  ],
  [
    'POST /api/v1.2/clusters {"cluster": {"label": ["c12"], "hadoop_settings": {"max_nodes": 2}}}',
    "cluster.id",
    newCluster("c12", ["hadoop_settings.max_nodes"]),
  ],
  ['POST /api/v1.2/clusters/N/clone {"cluster": {"label": ["cl1"]}}', "cluster.id", newCluster("cl1")],
  ['POST /api/v1.2/clusters/N/clone {"label":["jk45"]}', "cluster.id", newCluster("jk45")],
  [
    'PUT /api/v1.2/clusters/N {"cluster": {"hadoop_settings": {"max_nodes": 3}}}',
    "cluster.…",
    editedCluster(["hadoop_settings.max_nodes"]),
  ],
  [
    'PUT /api/v1.2/clusters/N {"disallow_cluster_termination":true}',
    "cluster.…",
    editedCluster(["disallow_cluster_termination"]),
  ],
  ["GET /api/v1.2/clusters/N/state", 'state, cluster_id, nodes[].role == "master"', state],
  ["GET /api/v1.3/clusters", "as in v2", sameAs("/api/v2/clusters")],
  ["GET /api/v1.3/clusters/default", "as in v2", sameAs("/api/v2/clusters/default")],
  ["GET /api/v1.3/clusters/N/state", "as in v2", state],
  [
    'PUT /api/v1.3/clusters/N/state {"state": "start"}',
    "as in v2",
    ({ message }) => expect(message).toMatch(/^Starting cluster/),
  ],
  [
    'PUT /api/v1.3/clusters/N {"node_configuration": {"max_nodes": 4}}',
    "as in v2",
    clusterOfV2("etl", ["node_configuration.max_nodes"]),
  ],
  ['POST /api/v1.3/clusters/N/clone {"label": ["clv13"]}', "as in v2", clusterOfV2("clv13")],
  [
    'POST /api/v2/clusters {"cloud_config": {"compute_config": {"compute_access_key": "A", "compute_secret_key": "S"}, "location": {"aws_region": "us-east-1"}}, "engine_config": {"flavour": "spark"}, "cluster_info": {"label": ["cv2"], "master_instance_type": "m3.xlarge", "slave_instance_type": "m3.xlarge", "min_nodes": 1, "max_nodes": 2}}',
    "a cluster",
    clusterOfV2("cv2", ["cloud_config.", "cluster_info.master_instance_type", "cluster_info.max_nodes"]),
  ],
  ['POST /api/v2/clusters/N/clone {"cluster_info": {"label": ["clv2"]}}', "a cluster", clusterOfV2("clv2")],
  [
    'PUT /api/v2/clusters/N {"cluster_info": {"max_nodes": 4}}',
    "a cluster",
    clusterOfV2("etl", ["cluster_info.max_nodes"]),
  ],
];

const APPS: readonly Exchange[] = [
  [
    'POST /api/v1.2/apps {"name":"japp","kind":"spark","config":{"spark.executor.memory":"1g"}}',
    "app.id, app.config as text",
    ({ app }) => {
      expect(app.id).toEqual(expect.any(Number));
      expect(JSON.parse(app.config)).toEqual({ "spark.executor.memory": "1g" });
    },
  ],
  ["GET /api/v1.2/apps", "an array of apps", ([app]) => expect(app).toMatchObject({ name: "reports", kind: "spark" })],
];

const HIVE: readonly Exchange[] = [
  ["GET /api/v1.2/hive?describe=false", "an array of names", (names) => expect(names).toEqual(["default"])],
  ["GET /api/v1.2/hive?describe=true", "schemas as an object", describedSchemas],
  ["GET /api/v1.2/hive?page=1&per_page=1&describe=true", "schemas as an object", describedSchemas],
  ["GET /api/latest/hive?describe=true&per_page=10000", "schemas as an object", describedSchemas],
  [
    "GET /api/v1.2/hive/default/ht/properties",
    "as table_properties",
    sameAs("/api/v1.2/hive/default/ht/table_properties"),
  ],
];

const RESULTS: readonly Exchange[] = [
  ["GET /api/v1.2/commands/N/results?inline=False&include_headers=false", "result_location", location],
  ["GET /api/v1.2/commands/N/results?inline=false", "result_location", location],
  [
    "GET /api/v1.2/commands/N/results",
    "results",
    (answer) => expect(answer).toEqual({ inline: true, results: "a\r\nb\r\n" }),
  ],
];

const ROLES: readonly Exchange[] = [
  [
    String.raw`PUT /api/v1.2/roles/ro1 {"policies": "[{\"access\": \"allow\", \"resource\": \"svc_user\", \"action\": [\"update\"]}]"}`,
    "roles.policy, as sent",
    ({ roles }) => expect(JSON.parse(roles.policy)).toMatchObject([{ resource: "svc_user" }]),
  ],
  ['POST /api/v1.2/roles/ro1/duplicate {"name": "ro2"}', "roles", ({ roles }) => expect(roles.name).toBe("ro2")],
  ["GET /api/v1.2/roles/ro1/groups", "groups", ({ groups }) => expect(groups).toMatchObject([{ name: "gr1" }])],
  ["DELETE /api/v1.2/roles/ro1", "status", ({ status }) => expect(status).toBe("success")],
];

/** These worked before. They show that the other prefix is used everywhere. */
const PREFIXED: readonly Exchange[] = [
  [
    'POST /api/v1.2/accounts/enable_svc_user {"svc_user_id": "EMAIL"}',
    "status",
    ({ status }) => expect(status).toBe("success"),
  ],
  ["PUT /api/v1.2/groups/N/svc_users/EMAIL/add {}", "status", ({ status }) => expect(status).toBe("done")],
  [
    "GET /api/v1.2/groups/N/svc_users",
    "users",
    ({ users }, { pendingEmail }) => expect(users).toMatchObject([{ email: pendingEmail }]),
  ],
  ["GET /api/v1.2/commands/N", "svc_session_id", (command) => expect(command).toHaveProperty("svc_session_id", null)],
];

/** A store with the folder `out` in every bucket. */
const store = createServer((request, response) => {
  const isThere = new URL(request.url ?? "", "http://store").searchParams.get("prefix") === "out/";
  const found = isThere
    ? "<Contents><Key>out/part-0</Key><LastModified>2026-11-15T08:30:00.000Z</LastModified><Size>1</Size></Contents>"
    : "";
  response.setHeader("Content-Type", "application/xml");
  response.end(`<ListBucketResult><IsTruncated>false</IsTruncated>${found}</ListBucketResult>`);
});
beforeAll(async () => once(store.listen(0, "127.0.0.1"), "listening"));
afterAll(() => store.close());

async function prepare(given: Given, account: AccountClient): Promise<Omit<Known, "get">> {
  const { port } = store.address() as AddressInfo; // a TCP server that listens has one
  const keys = { storage_access_key: "A", storage_secret_key: "S" };
  await account.put("/api/v2/accounts", { account: { storage_endpoint: `http://127.0.0.1:${port}`, ...keys } });
  const partition = { key: "dt", type: "string", value: "2026-11-15" };
  await storeCatalog(given, account, [{ schema: "default", table: "ht", location: "file:/w/ht", partition }]);
  await account.post("/roles", { name: "ro1" });
  await account.post("/groups", { name: "gr1", roles: "ro1" });
  const { group } = await account.post("/groups", { name: "gr2" });
  const { id: commandId } = await givenQuery(given, account, textRows(["a", "b"]));
  const { id: clusterId } = await account.post("/api/v2/clusters", { labels: ["etl"], engine: { type: "local" } });
  await account.post("/api/v2/apps", { name: "reports", config: {} });
  const { email: pendingEmail } = await given.member(account, { state: "pending" });
  return { clusterId, commandId, groupId: group.id, pendingEmail };
}

describe.each(["svc", "acme"])("a client of a deployment with the prefix %s", (prefix) => {
  const settings = { HEADGATE_IDENTIFIER_PREFIX: prefix, HEADGATE_SENSOR_STATUS: "boolean" };
  const clusterControl = { start: () => Promise.resolve(), terminate: () => Promise.resolve() };
  const given = useServer({ settings, clusterControl });
  let account: AccountClient;
  let known: Known;
  beforeAll(async () => {
    account = await given.account();
    const prepared = await prepare(given, account);
    known = { ...prepared, get: async (path) => neutral((await account.get(path).reply()).text) };
  });

  const neutral = (text: string): Answer => JSON.parse(text.replaceAll(`${prefix}_`, "svc_"));

  async function send(request: string): Promise<Answer> {
    const ids = { clusters: known.clusterId, commands: known.commandId, groups: known.groupId };
    const spelled = request
      .replaceAll("svc_", `${prefix}_`)
      .replaceAll("EMAIL", known.pendingEmail)
      .replace(/\/(clusters|commands|groups)\/N\b/, (_, kind: keyof typeof ids) => `/${kind}/${ids[kind]}`);
    const [, method = "", path = "", body] = /^(\w+) (\S+)(?: (.*))?$/.exec(spelled) ?? [];
    const sent = { method, path, headers: { "Content-Type": "application/json", Accept: "application/json" } };
    const { status, text, headers } = await sendAs(given.base, account, body === undefined ? sent : { ...sent, body });
    expect([status, text]).toEqual([200, text]);
    expect(headers.has(`x-${prefix}-trace-id`)).toBe(true);
    return neutral(text);
  }

  describe.each([
    ["sensors", SENSORS],
    ["clusters", CLUSTERS],
    ["apps", APPS],
    ["Hive", HIVE],
    ["results", RESULTS],
    ["roles", ROLES],
    ["identifiers with the prefix", PREFIXED],
  ])("%s", (_, exchanges) => {
    test.each(exchanges)("%s → reads %s", async (request, _reads, check) => {
      await check(await send(request), known);
    });
  });
});
