import type { EventLogs } from "../../engines/spark-submit/event-log/event-logs.ts";
import { programExecutor, type ProgramExecutorOptions } from "../programs/program-executor.ts";
import { printedResults } from "../results/result-source.ts";
import { languageOf } from "../submission/language.ts";
import { isSparkSql, planSpark, checkSparkWords, commandLineField } from "../submission/spark.ts";
import type { CommandKind } from "./command-kinds.ts";

export interface ProgramParts extends ProgramExecutorOptions {
  readonly eventLogs: EventLogs;
}

/** Spark programs in Python, Scala and R, and command lines: each in a driver of its own. */
export function programKind({ eventLogs, ...parts }: ProgramParts): CommandKind {
  const { driver } = parts;
  return {
    name: "program",
    plan: (body) => (body.command_type === "SparkCommand" && !isSparkSql(body) ? planSpark(body) : undefined),
    matches: ({ commandType, command }) => commandType === "SparkCommand" && languageOf(command) !== "sql",
    checkWords: ({ command }, values, text) => checkSparkWords(command, values, text),
    isCommandLine: ({ command }) => commandLineField(command) !== undefined,
    runsUsersCode: true,
    needsCluster: true,
    runsOnConnect: false,
    memory: {
      reservedMiB: (command) => command.statedMemoryMiB || driver.memoryMiB(command),
      stated: {
        miB: (command, text) => driver.statedMemoryMiB(command, text),
        field: ({ command }) => commandLineField(command) ?? "arguments",
      },
    },
    executor: programExecutor(parts),
    results: printedResults,
    jobs: ({ eventLog }, accountId) => eventLogs.jobs({ path: eventLog, owner: String(accountId) }),
  };
}
