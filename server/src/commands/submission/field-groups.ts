import type { FieldGroup } from "../../http/openapi/document.ts";

/** A table refresh ignores these. */
const RETRY = ["retry", "retry_delay"] as const;

/** For the reference: which fields of a submission belong to which kind of command, with a body that the server accepts. */
export function fieldGroups(common: readonly string[], copyOptions: readonly string[]): readonly FieldGroup[] {
  return [
    { title: "Every kind of command", fields: common },
    {
      title: "SparkCommand: a program",
      fields: [
        "program",
        "script_location",
        "language",
        "arguments",
        "user_program_arguments",
        "app_id",
        "note_id",
        ...RETRY,
      ],
      example: { command_type: "SparkCommand", language: "python", program: "print('hello')" },
    },
    {
      title: "SparkCommand: a query",
      fields: ["sql", "script_location", "language", "arguments", "app_id", ...RETRY],
      example: { command_type: "SparkCommand", sql: "select 1 as one" },
    },
    {
      title: "SparkCommand: a spark-submit command line",
      fields: ["cmdline", "script_location", "language", ...RETRY],
      example: { command_type: "SparkCommand", cmdline: "spark-submit s3://bucket/job.py --day 2026-01-31" },
    },
    {
      title: "HiveCommand: a query",
      fields: ["query", "script_location", ...RETRY],
      example: { command_type: "HiveCommand", query: "show tables" },
    },
    {
      title: "HiveCommand: a table refresh, which adds new partitions",
      fields: ["template", "db_name", "hive_table", "loader_stable", "loader_stable_mult"],
      example: { command_type: "HiveCommand", template: "s3import", db_name: "default", hive_table: "orders" },
    },
    {
      title: "HadoopCommand: a copy with S3DistCp",
      fields: ["sub_command", "sub_command_args", ...copyOptions, ...RETRY],
      example: {
        command_type: "HadoopCommand",
        sub_command: "s3distcp",
        sub_command_args: "--src s3://bucket/in --dest s3://bucket/out",
      },
    },
  ];
}
