import { Type, type Static } from "typebox";
import { MAX_INTEGER, OneOf } from "../http/schema.ts";

/** §4.12: the fields of an account in create and edit, by their wire names. */
const AWS_REGIONS = [
  "us-east-1",
  "us-east-2",
  "us-west-1",
  "us-west-2",
  "eu-west-1",
  "eu-west-2",
  "sa-east-1",
  "ap-south-1",
  "ap-southeast-1",
  "ap-northeast-1",
  "ap-northeast-2",
  "ca-central-1",
] as const;

export const REFRESH_ENGINES = ["native", "spark"] as const;

/** PostgreSQL's `integer`. */
const MAX_SECONDS = 2_147_483_647;

/** §8. */
export const MIN_IDLE_SECONDS = 300;

const idleSeconds = (minimum: number) =>
  Type.Optional(
    Type.Integer({
      minimum,
      maximum: MAX_SECONDS,
      description: `Seconds until an idle cluster ends, at least ${MIN_IDLE_SECONDS}; needs the feature aggressive_downscaling`,
    }),
  );
const accessKey = (description: string) =>
  Type.Optional(Type.String({ maxLength: 255, description, examples: ["AKIAEXAMPLEEXAMPLE00"] }));
const secretKey = (description: string) => Type.Optional(Type.String({ maxLength: 1024, description }));
const address = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 2048, description, examples: [example] }));

export const AccountName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "No control characters, at least one visible character",
  examples: ["Analytics"],
});

/** The fields of create and edit. */
export const AccountFields = {
  level: Type.Optional(OneOf(["free"])),
  compute_type: Type.Optional(OneOf(["CUSTOMER_MANAGED"])),
  storage_type: Type.Optional(OneOf(["CUSTOMER_MANAGED"])),
  CacheQuotaSizeInGB: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MAX_INTEGER, default: 25, description: "Cache quota in GB" }),
  ),
  defloc: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: "Location of logs, results and cached data: s3://, s3a://, s3n:// or hdfs://",
      examples: ["s3://example-bucket/headgate"],
    }),
  ),
  acc_key: accessKey("Another spelling of storage_access_key"),
  secret: secretKey("Another spelling of storage_secret_key"),
  storage_access_key: accessKey("Access key of the object storage"),
  storage_secret_key: secretKey("Secret key of the object storage"),
  compute_access_key: accessKey("Access key for compute"),
  compute_secret_key: secretKey("Secret key for compute"),
  aws_region: Type.Optional(OneOf(AWS_REGIONS)),
  storage_endpoint: address("An S3-compatible store instead of the provider's", "https://s3.example.com"),
  idle_cluster_timeout: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 6, default: 2, description: "Hours until an idle cluster ends" }),
  ),
  idle_cluster_timeout_in_secs: idleSeconds(MIN_IDLE_SECONDS),
  idle_session_timeout: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_800, default: 1440, description: "Minutes until an idle session ends" }),
  ),
  role_arn: Type.Optional(
    Type.String({ maxLength: 2048, description: "Cannot be set through the API; operators set it" }),
  ),
};

/** The fields of edit only. */
export const EditOnlyFields = {
  // The view shows zero if the hours apply. Sending that back must not be a new value.
  idle_cluster_timeout_in_secs: idleSeconds(0),
  hdfs_http_address: address("WebHDFS address of the account's HDFS", "http://namenode.example.com:9870"),
  metastore_uri: address("An external Hive metastore", "thrift://metastore.example.com:9083"),
  refresh_engine: Type.Optional(OneOf(REFRESH_ENGINES)),
};

const InputFields = Type.Object({ ...AccountFields, ...EditOnlyFields });
export type AccountInput = Static<typeof InputFields>;
