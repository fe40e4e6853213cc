import { isRecord } from "../../src/lib/is-record.ts";
import type { endpoints } from "../../src/routes.ts";
import { pathParameters } from "./sample-input.ts";
import type { Tenant } from "./tenants.ts";

export type Endpoint = (typeof endpoints)[number];

/** A value that exists in the other account, and one of the same kind and length that never existed. */
export interface Probe {
  /** The kinds of objects that have this id, name or location in the other account. */
  kinds: readonly string[];
  foreign: string;
  unknown: string;
}

/** An input of a request that takes a probe. */
export interface ProbedInput {
  name: string;
  accepts(probe: Probe): boolean;
  params: (value: string) => Record<string, string>;
  query: (value: string) => Record<string, string>;
  /** `works` is the body of a valid request. */
  body: (value: string, works: Record<string, unknown>) => Record<string, unknown>;
}

/** `after` is a cursor and does not name an object. */
const NAMING =
  /(^|_)(ids?|users?|members?|groups?|roles?|emails?|account|cluster|labels?|tags|name|schema|table|code)$|^(destination_)?location$/;

/** Path parameters, and the fields of query and body that name objects. */
export function inputsOf(endpoint: Endpoint): ProbedInput[] {
  const none = (): Record<string, never> => ({});
  const inPath = pathParameters(endpoint).map((name): ProbedInput => {
    const isInteger = propertyOf(endpoint.params, name).type === "integer";
    return {
      name: `path ${name}`,
      accepts: ({ kinds, foreign }) =>
        !kinds.includes("location") && (!isInteger || isId(foreign)) && (name !== "path" || !foreign.includes("/")),
      params: (value) => ({ [name]: value }),
      query: none,
      body: (_value, works) => works,
    };
  });
  const inFields = (["query", "body"] as const).flatMap((part) =>
    namingFields(endpoint, part).map((name): ProbedInput => {
      const { type } = propertyOf(endpoint[part], name);
      return {
        name: `${part} ${name}`,
        accepts: ({ kinds, foreign }) => !kinds.includes("location") && (type !== "integer" || isId(foreign)),
        params: none,
        query: (value) => (part === "query" ? { [name]: value } : {}),
        body: (value, works) => (part === "query" ? works : { ...works, [name]: type === "array" ? [value] : value }),
      };
    }),
  );
  return [...inPath, ...inFields, ...(FORMS[endpoint.id] ?? []).map(inputOf)];
}

function isId(value: string): boolean {
  return /^\d+$/.test(value);
}

/** Skips the name of a new folder: it refers to no object, and concurrent probes with the same name would get 409. */
function namingFields(endpoint: Endpoint, part: "query" | "body"): string[] {
  const schema = endpoint[part];
  const isNew = (name: string): boolean => endpoint.id === "folder_create" && name === "name";
  return Object.keys(schema?.properties ?? {}).filter(
    (name) => NAMING.test(name) && propertyOf(schema, name).type !== "object" && !isNew(name),
  );
}

function propertyOf(schema: Endpoint["body"], name: string): Record<string, unknown> {
  const property: unknown = schema?.properties[name];
  return isRecord(property) ? property : {};
}

/** Bodies whose other fields depend on the probed one, or that contain it inside another field. */
export interface Form {
  name: string;
  takes: "location" | "name";
  /** `works` is the body of a valid request. */
  body: (value: string, works: Record<string, unknown>) => Record<string, unknown>;
  /** The caller's own object with which the request works. Absent: the request accepts no file of the caller either. */
  works?: keyof Tenant["objects"];
}

const COPY = { command_type: "HadoopCommand", sub_command: "s3distcp" };
const REFRESH = { command_type: "HiveCommand", template: "s3import" };
const SPARK = { command_type: "SparkCommand", language: "python" };
const ELSEWHERE = "s3://bucket/folder";

const POLICY_FORMS: readonly Form[] = [
  {
    name: "a user in a policy",
    takes: "name",
    works: "users",
    body: (id, works) => policyOf({ svc_users: [Number(id)] }, works),
  },
  {
    name: "a group in a policy",
    takes: "name",
    works: "group_id",
    body: (id, works) => policyOf({ svc_groups: [Number(id)] }, works),
  },
];
/** A member's home as the location of a notebook or a dashboard. */
const HOME: Form = {
  name: "a home",
  takes: "name",
  works: "email",
  body: (email, works) => ({ ...works, location: `Users/${email}` }),
};

export const FORMS: Record<string, readonly Form[]> = {
  notebook_create: [HOME],
  notebook_import: [HOME],
  notebook_clone: [HOME],
  notebook_move: [HOME],
  notebook_dashboard_create: [HOME],
  command_submit: [
    { name: "a script", takes: "location", works: "object", body: (uri) => ({ ...SPARK, script_location: uri }) },
    {
      name: "a Hive script",
      takes: "location",
      works: "object",
      body: (uri) => ({ command_type: "HiveCommand", script_location: uri }),
    },
    { name: "a source", takes: "location", works: "object", body: (uri) => ({ ...COPY, src: uri, dest: ELSEWHERE }) },
    {
      name: "a destination",
      takes: "location",
      works: "object",
      body: (uri) => ({ ...COPY, src: ELSEWHERE, dest: uri }),
    },
    {
      name: "copy arguments",
      takes: "location",
      works: "object",
      body: (uri) => ({ ...COPY, sub_command_args: `--src ${uri} --dest ${ELSEWHERE}` }),
    },
    {
      name: "a Python file",
      takes: "location",
      works: "object",
      body: (uri) => ({ ...SPARK, program: "true", arguments: `--py-files ${uri}` }),
    },
    {
      name: "a command line",
      takes: "location",
      works: "object",
      body: (uri) => ({ command_type: "SparkCommand", cmdline: `spark-submit ${uri}` }),
    },
    { name: "an app", takes: "name", works: "app_id", body: (id) => ({ ...SPARK, program: "true", app_id: id }) },
    { name: "a cluster", takes: "name", works: "label", body: (label) => ({ ...SPARK, program: "true", label }) },
    {
      name: "a schema",
      takes: "name",
      works: "schema",
      body: (schema) => ({ ...REFRESH, db_name: schema, hive_table: "own_name" }),
    },
    {
      name: "a table",
      takes: "name",
      works: "table",
      body: (table) => ({ ...REFRESH, db_name: "own_name", hive_table: table }),
    },
  ],
  partition_sensor_create: [
    { name: "a schema", takes: "name", body: (schema) => sensor(schema, "victim_name") },
    { name: "a table", takes: "name", body: (table) => sensor("victim_name", table) },
  ],
  object_policy_set: POLICY_FORMS,
  folder_policy_set: POLICY_FORMS,
  file_sensor_create: [{ name: "a file", takes: "location", works: "object", body: (uri) => ({ files: [uri] }) }],
  account_create: [
    { name: "a location", takes: "location", body: (uri) => ({ account: { name: "x", defloc: uri } }) },
    { name: "an endpoint", takes: "location", body: (uri) => ({ account: { name: "x", storage_endpoint: uri } }) },
  ],
  account_edit: [
    { name: "a location", takes: "location", body: (uri) => ({ defloc: uri }) },
    { name: "an HDFS", takes: "location", body: (uri) => ({ hdfs_http_address: uri }) },
    { name: "a metastore", takes: "location", body: (uri) => ({ metastore_uri: uri }) },
  ],
  app_create: [
    { name: "jars", takes: "location", works: "object", body: (uri) => ({ name: "x", config: { "spark.jars": uri } }) },
  ],
  cluster_create: [
    {
      name: "jars",
      takes: "location",
      works: "object",
      body: (uri) => ({ labels: ["x"], engine: { type: "local" }, spark_config: { "spark.jars": uri } }),
    },
  ],
};

function policyOf(condition: Record<string, unknown>, works: Record<string, unknown>): Record<string, unknown> {
  return { ...works, policy: JSON.stringify([{ access: "allow", action: ["read"], condition }]) };
}

function sensor(schema: string, table: string): Record<string, unknown> {
  return { schema, table, columns: [{ column: "day", values: ["1"] }] };
}

function inputOf({ name, takes, body }: Form): ProbedInput {
  return {
    name,
    accepts: ({ kinds }) => kinds.includes("location") === (takes === "location"),
    params: () => ({}),
    query: () => ({}),
    body,
  };
}

/** A way to write a location in the other account's storage. */
interface LocationProbe extends Probe {
  /** Whether it only spells one of the other locations differently. */
  isAlternativeSpelling: boolean;
}

/**
 * Every way to write a location in the other account's storage. The location that never existed differs only in the
 * file name.
 */
export function locationProbes(own: Tenant, other: Tenant): LocationProbe[] {
  const up = `${own.storage}/../../${other.account.accountId}/storage`;
  const ways = (file: string): string[] => [
    `file://${other.storage}/${file}`,
    `file://${up}/${file}`,
    `file://${own.storage}/linked-folder/${file}`,
    `file://${own.storage}/link-to-${file}`,
  ];
  const spellings = (file: string): string[] => [
    `file://${up.replaceAll("..", "%2e%2e")}/${file}`,
    `file:${other.storage}/${file}`,
    `file://localhost${other.storage}/${file}`,
    `${other.storage}/${file}`,
    `file://${own.storage}//${"../".repeat(2)}${other.account.accountId}/storage/${file}`,
  ];
  const probesOf = (uris: typeof ways, isAlternativeSpelling: boolean): LocationProbe[] => {
    const unknown = uris("absent-object.py");
    return uris("victim-object.py").map((foreign, at) => ({
      kinds: ["location"],
      foreign,
      unknown: unknown[at] ?? "",
      isAlternativeSpelling,
    }));
  };
  return [...probesOf(ways, false), ...probesOf(spellings, true)];
}
