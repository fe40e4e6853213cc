import { noJobs } from "../results/job-source.ts";
import { unsupportedExecutor, type CommandKind } from "./command-kinds.ts";
import { printedResults } from "../results/result-source.ts";
import { planHadoop } from "../submission/hadoop.ts";

/** S3DistCp copies. They are accepted, and end as `error` until there is an executor for them. */
export const s3distcpKind: CommandKind = {
  name: "s3distcp",
  plan: (body) => (body.command_type === "HadoopCommand" ? planHadoop(body) : undefined),
  matches: ({ commandType }) => commandType === "HadoopCommand",
  runsUsersCode: false,
  needsCluster: true,
  runsOnConnect: false,
  memory: { reservedMiB: () => 0 },
  executor: unsupportedExecutor,
  results: printedResults,
  jobs: noJobs,
};
