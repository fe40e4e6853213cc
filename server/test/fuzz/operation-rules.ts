import { among, flag, integer, oneOf, refused, required, secret, text, type Fields } from "./field-rules.ts";
import { OBJECT_RULES } from "./object-rules.ts";
import { none, paged, paging, type OperationRules } from "./operation-input.ts";

const waiting = among([0, "0"], [61, -1, "x", "1.5"]);
const sensorWaiting = among([0, "0"], [301, -1, "x", [], {}]);
const name = required(text(255));

const REGIONS = (
  "us-east-1 us-east-2 us-west-1 us-west-2 eu-west-1 eu-west-2 sa-east-1 " +
  "ap-south-1 ap-southeast-1 ap-northeast-1 ap-northeast-2 ca-central-1"
).split(" ");

const settings: Fields = {
  level: oneOf("free"),
  compute_type: oneOf("CUSTOMER_MANAGED"),
  storage_type: oneOf("CUSTOMER_MANAGED"),
  CacheQuotaSizeInGB: integer(0, Infinity, { hasLeast: false }),
  defloc: among(
    ["s3://bucket-name/logs", "s3a://bucket-name", "hdfs://nn.example.com/x"],
    ["ftp://x/y", "file:///x", []],
  ),
  compute_access_key: secret(255),
  compute_secret_key: secret(1024),
  aws_region: oneOf(...REGIONS),
  idle_cluster_timeout: integer(0, 6),
  idle_cluster_timeout_in_secs: refused(299, 600, "x"),
  idle_session_timeout: integer(1, 10_800, { hasLeast: false }),
  role_arn: refused("arn:aws:iam::123456789012:role/x"),
};
const account: Fields = {
  ...settings,
  name,
  storage_access_key: secret(255),
  storage_secret_key: secret(1024),
  sub_account_creation: flag,
};
const accountV1: Fields = { ...settings, name, acc_key: secret(255), secret: secret(1024), sub_account_creation: flag };

const labels = among([["fuzzed"], ["fuzzed", "other"]], [[], {}, [[]], [""], [{}]]);
const label = { ...among(["fuzzed", ["fuzzed"]], [[], {}, [[]], "", [""], [{}]]), namedAs: "labels" };
const engine = among([{ type: "local" }], [{ type: "no-such-engine" }, {}, []]);
const cluster: Fields = {
  labels,
  engine,
  spark_config: among([{}, { "spark.sql.shuffle.partitions": "4" }], ["x", [1], { "spark.ui.port": "1" }]),
  table_formats: among([[], ["delta", "iceberg", "delta"]], [["hudi"], [{}], {}]),
  idle_cluster_timeout: integer(0, 6),
  pools: among([{}, { fast: { weight: 2 } }], ["x", { fast: { weight: 0 } }]),
};

const reassignment: Fields = {
  destination_cluster: required(among(["@own:cluster_id", "default"], ["", [], {}])),
  label: required(among(["@own:label"], ["", [], {}])),
};

const POLICY = '[{"resource":"command","action":["read"],"access":"allow"}]';
const policies = among(
  ["[]", POLICY, []],
  ["x", "{}", '[{"resource":"no-such","action":["read"],"access":"allow"}]', [1]],
);
const members = among(["@own:users"], [[], {}]);
const roles = among(["@own:role_id"], [[], {}]);

const common: Fields = {
  name: text(255, { bad: ["a<b", 'a"b', "a&b", "a'b", "a\u0000b"], mayBeEmpty: true }),
  tags: among([["t"], []], [[["x"]], ["x".repeat(256)], {}]),
  timeout: integer(1, Infinity),
  label: among(["default", "@own:label"], ["no-such-label", [], {}]),
};

const history: Fields = {
  ...paging,
  all_users: among([0, 1, "0", "1"], ["x", "2"]),
  include_query_properties: flag,
  start_date: among(["2026-01-31", "2026-01-31T10:00:00Z"], ["yesterday", "2026-13-01"]),
  end_date: among(["2026-12-31", "2027-01-01T10:00:00Z"], ["tomorrow", "2026-02-30"]),
};

/** All operations of the document; a test fails when one is missing. */
export const OPERATION_RULES: readonly OperationRules[] = [
  ...none("account_view", "account_view_v1", "account_users", "account_user_emails", "account_pending_users"),
  ...none("account_credentials", "account_features_view", "node_list", "whitelist_ip_list", "whitelist_ip_list_v1_2"),
  ...none("whitelist_ip_delete", "whitelist_ip_delete_v1_2", "app_view", "app_stop", "app_delete"),
  ...none("app_view_v1_2", "app_stop_v1_2", "cluster_view_v1_2"),
  ...none("cluster_view", "cluster_state_view", "cluster_delete", "group_view", "group_delete", "group_role_list"),
  ...none("group_user_list", "group_user_add", "group_user_remove", "group_role_assign", "group_role_unassign"),
  ...none("role_view", "role_delete", "command_error_log", "command_jobs", "command_attempts", "command_rerun"),
  ...paged("app_list_v1_2", "cluster_list_v1_2", "cluster_access"),
  ...paged("app_list", "cluster_list", "group_list", "role_list", "role_group_list", "user_list", "account_list"),
  {
    operationId: "audit_event_list",
    query: {
      ...paging,
      operation: among(["whitelist_ip_add"], [""]),
      object: among(["cluster/1"], [""]),
      user_id: integer(1, Infinity),
      outcome: oneOf("done", "denied"),
      start_date: among(["2026-01-01", "2026-01-01T00:00:00Z"], ["x", "2026-02-30"]),
      end_date: among(["2026-12-31"], ["x", "2026-13-01"]),
    },
    changesByItself: true,
  },
  ...OBJECT_RULES,
  // A bad value of `recursive` is refused before the file is looked for, because it decides what the path names.
  ...none("file_upload", "file_download", "file_delete"),
  {
    operationId: "file_list",
    query: {
      prefix: among(["", "own/", "ow"], ["/own", "a//b", "../x", "./a"]),
      delimiter: oneOf("/"),
      after: among(["own/a"], ["/own/a", "a//b"]),
      per_page: integer(1, 100),
    },
  },
  { operationId: "account_create", body: account, inside: "account" },
  { operationId: "account_create_v1_2", body: accountV1, inside: "account" },
  { operationId: "account_edit", body: { ...settings, name: text(255), storage_secret_key: secret(1024) } },
  { operationId: "account_features_edit", body: { features: required(among([{ large_scripts: true }], [[], "x"])) } },
  { operationId: "node_edit", body: { state: required(among(["paused"], ["no-such-value", [], {}])) } },
  { operationId: "user_enable", body: { svc_user_id: required(among(["@own:users"], ["", [], {}])) } },
  { operationId: "user_disable", body: { svc_user_id: required(among(["@own:users"], ["", [], {}])) } },
  {
    operationId: "user_invite",
    body: {
      invitee_email: required(among(["fuzzed@example.test", "ü@example.test"], ["no-at-sign", "a b@c", "a@b,c@d", []])),
      groups: among(["system-user", "@own:group_id"], ["no-such-group", [], {}]),
      user_type: oneOf("regular", "service"),
    },
  },
  {
    operationId: "invitation_accept",
    body: { code: required(among(["@own:code"], [[], {}])), name: text(255) },
  },
  { operationId: "token_reset", body: { overlap_minutes: integer(0, 10_080) } },
  {
    operationId: "app_create",
    body: { name, kind: oneOf("spark"), config: among([{}, { "spark.x": "y" }], [5, ["x"]]) },
  },
  {
    operationId: "app_create_v1_2",
    body: {
      name,
      kind: oneOf("spark"),
      config: among([{ "spark.x": "y" }, '{"spark.x":"y"}', [{ "spark.x": "y" }, {}], ""], [5, ["x"], "x", "5"]),
    },
  },
  { operationId: "cluster_create_v1_2", form: "flat", body: { ...cluster, labels: required(labels) } },
  {
    operationId: "cluster_create_v1_2",
    form: "in cluster",
    inside: "cluster",
    body: { ...cluster, label: required(label), labels: refused("x", 5) },
  },
  {
    operationId: "cluster_create",
    form: "in cluster_info",
    inside: "cluster_info",
    body: { ...cluster, labels: required(labels) },
  },
  { operationId: "cluster_edit_v1_2", inside: "cluster", body: cluster },
  { operationId: "cluster_clone_v1_2", inside: "cluster", body: { ...cluster, labels: required(labels) } },
  { operationId: "cluster_label_reassign_v1_2", body: reassignment },
  { operationId: "cluster_create", body: { ...cluster, labels: required(labels), engine: required(engine) } },
  { operationId: "cluster_edit", body: cluster },
  { operationId: "cluster_clone", body: { ...cluster, labels: required(labels) } },
  { operationId: "cluster_label_reassign", body: reassignment },
  {
    operationId: "cluster_state_change",
    body: { state: required(among(["start", "terminate"], ["no-such-value", [], {}])), force: flag },
  },
  {
    operationId: "command_submit",
    form: "a program",
    fixed: { program: "print(1)" },
    body: {
      ...common,
      retry: integer(0, 3),
      retry_delay: integer(0, Infinity),
      can_notify: flag,
      app_id: among(["@own:app_id"], ["987654321", [], {}]),
      macros: among([[], [{ x: "1 + 1" }], '[{"x":"1"}]'], [{}, [5], "x", [{ x: "(" }]]),
      command_type: required(among(["SparkCommand"], ["NoSuchCommand", [], {}])),
      language: required(among(["python", "py", "scala", "R"], ["Python", "cobol", [], {}])),
    },
  },
  {
    operationId: "command_submit",
    form: "a copy",
    fixed: { command_type: "HadoopCommand", src: "s3://bucket-name/a", dest: "s3://bucket-name/b" },
    body: {
      ...common,
      sub_command: required(oneOf("s3distcp")),
      encryptionKey: secret(65_536),
      targetSize: integer(1, Infinity, { hasLeast: false }),
      deleteOnSuccess: flag,
      s3SSEAlgorithm: among(["SSE-C"], [[], {}]),
    },
  },
  {
    operationId: "command_submit",
    form: "a refresh",
    fixed: { template: "s3import" },
    body: {
      ...common,
      db_name: required(among(["default", "a_1"], ["a-b", "1a", "", "a".repeat(129), [], {}])),
      hive_table: required(among(["orders", "_t"], ["a b", "a.b", "", []])),
      loader_stable: flag,
      loader_stable_mult: integer(1, Infinity, { hasLeast: false }),
    },
  },
  { operationId: "command_list", query: history },
  { operationId: "command_list_v1", query: history },
  { operationId: "command_view", query: { include_query_properties: flag, wait_seconds: waiting } },
  { operationId: "command_status_with_results", query: { wait_seconds: waiting } },
  {
    operationId: "command_logs",
    query: { err_file_processed: integer(0, Infinity), tmp_file_processed: integer(0, Infinity) },
  },
  // The caller's command still waits, so it has no results yet.
  { operationId: "command_results", query: { inline: flag, include_headers: flag, raw: flag }, valid: 422 },
  { operationId: "command_cancel", body: { status: oneOf("kill") } },
  { operationId: "group_create", body: { name, members, roles } },
  { operationId: "group_edit", body: { name: text(255), members, roles } },
  { operationId: "group_duplicate", body: { name } },
  { operationId: "role_create", body: { name, policies } },
  { operationId: "role_edit", body: { name: text(255), policies } },
  { operationId: "role_duplicate", body: { name } },
  { operationId: "whitelist_ip_add", body: { ip_cidr: required(addresses()) } },
  { operationId: "whitelist_ip_add_v1_2", body: { ip_cidr: required(addresses()) } },
  {
    operationId: "hive_schemas",
    query: {
      page: integer(1, Infinity),
      per_page: integer(1, Infinity),
      describe: among(["true", "false"], ["perhaps"]),
    },
  },
  {
    operationId: "hive_tables",
    query: { filter: among(["^a", "x|y"], ["(", "x".repeat(513)]), describe: oneOf("true") },
  },
  // The caller's account has no tables.
  { operationId: "hive_table", valid: 404 },
  { operationId: "hive_table_properties", valid: 404 },
  { operationId: "hive_partitions", valid: 404 },
  {
    operationId: "partition_sensor_create",
    body: {
      schema: required(text(256)),
      table: required(text(256)),
      columns: required(among([[{ column: "day", values: ["1"] }]], [[], {}, "x", [{}], [{ column: "day" }]])),
      wait_seconds: sensorWaiting,
    },
    valid: 422,
  },
  {
    operationId: "file_sensor_create",
    body: {
      files: { ...required(among([["@own:object"]], [{}, "x", 5])), namedAs: "File list" },
      wait_seconds: sensorWaiting,
    },
  },
];

function addresses() {
  return among(
    ["10.1.2.3", "192.168.0.0/16", "2001:db8::1", "2001:db8::/32"],
    ["300.1.1.1", "10.0.0.1/8", "fe80::1%eth0", "x", "", [], {}],
  );
}
