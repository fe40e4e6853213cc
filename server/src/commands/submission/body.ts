/**
 * The body of a submission of any type (§4.2–4.5); the type decides which fields count. The schema has the outermost limits.
 * Limits that depend on the type, the language or the account's features are in the other files of this folder.
 */
import { Type, type Static, type TSchema } from "typebox";
import { invalid } from "../../lib/fault.ts";
import { checkName } from "../../lib/name-rule.ts";
import { fieldGroups } from "./field-groups.ts";

const MAX_INT = 2_147_483_647;
/** The longest program, with the feature that allows the most. */
export const LONGEST_TEXT_BYTES = 10 * 1024 * 1024;

const text = (maxLength: number, description: string, options: Record<string, unknown> = {}) =>
  Type.Optional(Type.String({ maxLength, description, ...options }));
const word = (description: string, ...examples: string[]) =>
  text(255, description, examples.length === 0 ? {} : { examples });
const count = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const commonFields = {
  command_type: word("SparkCommand, HadoopCommand or HiveCommand; a table refresh needs none", "SparkCommand"),
  label: word("Label of the cluster; default: default", "default"),
  name: text(255, "For filtering the history; without & < > and quotes"),
  tags: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      maxItems: 100,
      description: "For filtering the history",
    }),
  ),
  macros: Type.Optional(
    Type.Unsafe<unknown>({
      type: ["array", "string"],
      items: { type: "object", additionalProperties: true },
      maxItems: 100,
      maxLength: 1_048_576,
      description:
        "Values for $name$ in the texts: [{name: expression}, …], or the same as JSON text. Expressions are JavaScript and are evaluated in their order",
      examples: [[{ day: "'2026-01-31'" }]],
    }),
  ),
  timeout: count(1, MAX_INT, "Seconds; default 129600"),
  template: word("s3import submits a table refresh"),
  pool: word("Fair-scheduler pool"),
  can_notify: flag("Default false"),
};

const retryFields = {
  retry: count(0, 3, "How often a failed command runs again"),
  retry_delay: count(0, 525_600, "Minutes between two attempts"),
};

const SPARK_ARGUMENTS =
  "Options of spark-submit. Options that the server decides (--master, spark.ui.*, …) are ignored and named in the log";

const sparkFields = {
  program: text(LONGEST_TEXT_BYTES, "The program's text; needs language", { examples: ["print('hello')"] }),
  sql: text(LONGEST_TEXT_BYTES, "The query's text"),
  cmdline: text(LONGEST_TEXT_BYTES, "The whole spark-submit command line, split into words as by a shell"),
  script_location: text(
    8192,
    "A stored script: storage:/…, s3://…, hdfs://…, or file:/… below the account's storage folder",
  ),
  language: word("scala, python (py), sql, R or command_line", "python"),
  arguments: text(65_536, SPARK_ARGUMENTS),
  user_program_arguments: text(65_536, "Arguments of the program"),
  app_id: word("An app of the account"),
  note_id: word("Reserved: this version cannot run notebooks, so a value is refused with 422"),
};

const hadoopFields = {
  sub_command: word("s3distcp"),
  sub_command_args: text(
    65_536,
    "Options of s3distcp, split into words as by a shell. Keys in them are stored encrypted and shown as ********",
  ),
};

const hiveFields = {
  query: text(LONGEST_TEXT_BYTES, "The query's text"),
  db_name: word("Refresh: the database"),
  hive_table: word("Refresh: the table"),
  loader_stable: flag("Refresh: add a folder only if nothing in it has changed for loader_stable_mult minutes"),
  loader_stable_mult: count(0, 10_080, "Refresh: minutes without a change that loader_stable waits for; default 1"),
};

const location = (description: string) => text(8192, description);
/** §4.4. Each is an option of the same name in `sub_command_args`, or a field. */
export const copyOptionFields = {
  src: location("Source of the copy"),
  dest: location("Destination of the copy"),
  srcPattern: text(8192, "Regular expression in RE2 syntax: copies only files that match"),
  groupBy: text(8192, "Regular expression in RE2 syntax with a group: concatenates the files that match"),
  targetSize: count(1, MAX_INT, "Size in MiB of the files that groupBy writes"),
  outputCodec: word("gzip, gz, lzo, snappy or none"),
  s3ServerSideEncryption: flag("Encrypt at rest"),
  s3SSEAlgorithm: word("AES256, SSE-KMS or SSE-C"),
  encryptionKey: text(8192, "Key for SSE-KMS or SSE-C; stored encrypted, shown as ********"),
  deleteOnSuccess: flag("Delete the source files after they were copied"),
  disableMultipartUpload: flag("Upload each object in one request"),
  multipartUploadChunkSize: count(1, MAX_INT, "Size of a part in MiB; default 16"),
  filesPerMapper: count(1, MAX_INT, "Files for each map task"),
  numberFiles: flag("Prefix files with numbers"),
  startingIndex: count(0, MAX_INT, "The first number"),
  outputManifest: flag("Write a manifest of the copied files"),
  previousManifest: location("Manifest of an earlier run, whose files are not copied again"),
  copyFromManifest: flag("Copy the files that previousManifest lists"),
  s3Endpoint: word("Endpoint of source and destination"),
  srcS3Endpoint: word("Endpoint of the source"),
  tmpDir: location("Temporary folder; default hdfs:///tmp"),
} satisfies Record<string, TSchema>;

export const SubmissionBody = Type.Object(
  {
    ...commonFields,
    ...retryFields,
    ...sparkFields,
    ...hadoopFields,
    ...copyOptionFields,
    ...hiveFields,
  },
  { "x-field-groups": fieldGroups(Object.keys(commonFields), Object.keys(copyOptionFields)) },
);
export type SubmissionInput = Static<typeof SubmissionBody>;

/** §4.2. The schema checks length and well-formedness. HTML tags need characters that are forbidden here. */
const FORBIDDEN = /[&<>"']/;

export function checkCommandName(name: string | undefined): string | null {
  if (name === undefined) return null;
  if (FORBIDDEN.test(name)) throw invalid("name", `must not contain & < > " ' or HTML tags`);
  // An empty name stays allowed: clients may send it for none.
  return name === "" ? name : checkName("name", name);
}

/** Removes duplicate tags. */
export function checkTags(tags: readonly string[] = []): string[] {
  return [...new Set(tags.map((tag) => checkName("tags", tag)))];
}
