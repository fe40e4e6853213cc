import { Type, type Static } from "typebox";
import { OneOf } from "../http/schema.ts";
import { invalid } from "../lib/fault.ts";
import { secretMask, Secret } from "../lib/secret.ts";
import { checkApiServer, checkConnectUrl, checkMasterUrl } from "./engine-address.ts";

/** The engine that runs the commands of a cluster (decisions §5). Its token is stored separately, sealed. */
export type ClusterEngine =
  | { readonly type: "local" }
  | { readonly type: "standalone"; readonly masterUrl: string }
  | { readonly type: "yarn"; readonly hadoopConf: string }
  | { readonly type: "kubernetes"; readonly apiServer: string; readonly image: string; readonly namespace: string }
  | { readonly type: "connect"; readonly url: string };

const ENGINE_TYPES = ["local", "standalone", "yarn", "kubernetes", "connect"] as const;
type EngineType = ClusterEngine["type"];

const address = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 2048, description, examples: [example] }));

const engineFields = {
  type: OneOf(ENGINE_TYPES, { description: "local: this machine" }),
  master_url: address("standalone: its masters", "spark://spark.example.com:7077"),
  hadoop_conf: Type.Optional(
    Type.String({ maxLength: 255, description: "yarn: a name of HEADGATE_HADOOP_CONFS, which the operator sets" }),
  ),
  api_server: address("kubernetes: its API server", "https://kubernetes.example.com:6443"),
  image: Type.Optional(Type.String({ maxLength: 512, description: "kubernetes: the image that runs Spark" })),
  namespace: Type.Optional(Type.String({ maxLength: 63, description: "kubernetes: where its pods run" })),
  url: address("connect: a running Spark Connect server; SQL only", "sc://connect.example.com:15002"),
  token: Type.Optional(
    Type.String({
      maxLength: 4096,
      description:
        "connect: the token of the server; standalone: spark.authenticate.secret of its masters and workers. Stored encrypted, shown as ********",
    }),
  ),
};

/** The same keys in requests and replies. */
export const Engine = Type.Object(engineFields, { title: "ClusterEngine", examples: [{ type: "local" }] });
export type EngineInput = Static<typeof Engine>;
const ENGINE_FIELDS = Object.keys(engineFields) as (keyof EngineInput)[]; // Object.keys forgets the names

/** The rules of the deployment. */
export interface EngineRules {
  allowedNetworks: readonly string[];
  /** Folders of Hadoop configurations, by the names that the operator gave them. */
  hadoopConfs: ReadonlyMap<string, string>;
}

const FIELDS_OF: Record<EngineType, readonly (keyof EngineInput)[]> = {
  local: [],
  standalone: ["master_url", "token"],
  yarn: ["hadoop_conf"],
  kubernetes: ["api_server", "image", "namespace"],
  connect: ["url", "token"],
};

const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/;
const NAMESPACE = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

export function parseEngine(input: EngineInput, { allowedNetworks, hadoopConfs }: EngineRules): ClusterEngine {
  const { type } = input;
  const misplaced = ENGINE_FIELDS.find((name) => name !== "type" && input[name] && !FIELDS_OF[type].includes(name));
  if (misplaced !== undefined) throw invalid(`engine.${misplaced}`, `must not be given with the type ${type}`);
  switch (type) {
    case "local":
      return { type };
    case "standalone":
      return { type, masterUrl: checkMasterUrl(required(input, "master_url"), allowedNetworks) };
    case "yarn": {
      const hadoopConf = required(input, "hadoop_conf");
      if (hadoopConfs.has(hadoopConf)) return { type, hadoopConf };
      throw invalid(
        "engine.hadoop_conf",
        "must be the name of a Hadoop configuration that the operator has set in HEADGATE_HADOOP_CONFS",
      );
    }
    case "kubernetes": {
      const image = required(input, "image");
      const namespace = required(input, "namespace");
      if (!IMAGE.test(image)) throw invalid("engine.image", "must be the name of an image");
      if (!NAMESPACE.test(namespace)) {
        throw invalid("engine.namespace", "must contain only lower-case letters, digits and inner hyphens");
      }
      return { type, apiServer: checkApiServer(required(input, "api_server"), allowedNetworks), image, namespace };
    }
    case "connect":
      return { type, url: checkConnectUrl(required(input, "url"), allowedNetworks) };
  }
}

function required(input: EngineInput, name: Exclude<keyof EngineInput, "type">): string {
  const text = input[name];
  if (text === undefined || text === "") throw invalid(`engine.${name}`, `is required with the type ${input.type}`);
  return text;
}

/** Undefined if absent, empty or the mask of replies. */
export function givenToken({ token }: EngineInput): Secret | undefined {
  return token === undefined || token === "" || token === secretMask ? undefined : new Secret(token);
}

export function isSameEngine(one: ClusterEngine, other: ClusterEngine): boolean {
  return JSON.stringify(engineObject(one, false)) === JSON.stringify(engineObject(other, false));
}

export function engineObject(engine: ClusterEngine, hasToken: boolean): EngineInput {
  const masked = hasToken ? { token: secretMask } : {};
  switch (engine.type) {
    case "local":
      return { type: engine.type };
    case "standalone":
      return { type: engine.type, master_url: engine.masterUrl, ...masked };
    case "yarn":
      return { type: engine.type, hadoop_conf: engine.hadoopConf };
    case "kubernetes":
      return {
        type: engine.type,
        api_server: engine.apiServer,
        image: engine.image,
        namespace: engine.namespace,
      };
    case "connect":
      return { type: engine.type, url: engine.url, ...masked };
  }
}
