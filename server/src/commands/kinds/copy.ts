import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import { type CopyExecutorOptions, copyExecutor, COPY_MEMORY_MIB } from "../copies/copy-executor.ts";
import { copyJobs } from "../copies/copy-jobs.ts";
import { tableResults } from "../results/result-source.ts";
import { planHadoop } from "../submission/hadoop.ts";
import type { CommandKind } from "./command-kinds.ts";

export interface CopyParts {
  readonly copies: CopyExecutorOptions;
  readonly renderer: ResultRenderer;
}

/** S3DistCp copies (§4.4): each in a process of its own, without Spark. */
export function copyKind({ copies, renderer }: CopyParts): CommandKind {
  return {
    name: "s3distcp",
    plan: (body) => (body.command_type === "HadoopCommand" ? planHadoop(body) : undefined),
    matches: ({ commandType }) => commandType === "HadoopCommand",
    runsUsersCode: false,
    needsCluster: false,
    runsOnConnect: true,
    memory: { reservedMiB: () => COPY_MEMORY_MIB },
    executor: copyExecutor(copies),
    results: tableResults(renderer),
    jobs: copyJobs,
  };
}
