import { join } from "node:path";
import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import {
  driverCommandLine,
  driverMemoryMiB,
  type DriverProgram as SparkProgram,
} from "../../engines/spark-submit/driver-command-line.ts";
import { EventLogReader } from "../../engines/spark-submit/event-log.ts";
import { Fault } from "../../lib/fault.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { fillMacros, macroValues } from "../macros.ts";
import { languageOf } from "../submission/language.ts";
import type { ContributionsOf } from "../warm/spark-place.ts";
import type { RunnableCommand } from "./executor.ts";
import type { ProgramDriver } from "./program-driver.ts";

/** Spark's own default for `spark.driver.memory`. */
const DEFAULT_MEMORY_MIB = 1024;
/** What a driver takes besides its heap: the JVM itself and the interpreter of the program. */
const OVERHEAD_SHARE = 0.1;
const LEAST_OVERHEAD_MIB = 384;
/** Submission has held the same limit. */
const ARGUMENTS_BYTES = 256 * 1024;

/** Python programs and command lines, on the Spark of this node. */
export function sparkDriver(setUp: Pick<SparkSetUp, "current">, contributionsOf: ContributionsOf): ProgramDriver {
  return {
    unready() {
      const { state, detail } = setUp.current();
      if (state === "ready") return null;
      return state === "installing" ? `Spark is being set up: ${detail}` : `Spark cannot be set up: ${detail}`;
    },

    memoryMiB(command) {
      const heapMiB = heapOf(command);
      return heapMiB + Math.max(LEAST_OVERHEAD_MIB, Math.ceil(heapMiB * OVERHEAD_SHARE));
    },

    async commandLine({ command, programText, requestId }, { work, input, eventLogFolder, applicationId }) {
      const spark = setUp.current();
      if (spark.state !== "ready") throw new Fault("unavailable", "Spark is not set up on this node");
      const { properties, env, readOnly } = await localContribution(command, contributionsOf);
      const file = join(input, "program.py");
      const propertiesFile = join(input, "spark.properties");
      const program = sparkProgram(command, programText ?? "", file);
      const line = driverCommandLine({
        home: spark.home,
        program,
        properties,
        propertiesFile,
        defaultMemoryMiB: DEFAULT_MEMORY_MIB,
        applicationId,
        tags: { command: String(command.id), request: requestId },
        eventLogFolder,
        scratchFolder: join(work, ".spark"),
      });
      return {
        argv: line.argv,
        env: { PATH: "/usr/bin:/bin", HOME: work, LANG: "C.UTF-8", ...line.env, ...env },
        files: {
          "spark.properties": line.propertiesText,
          ...(program.kind === "python" ? { "program.py": programText ?? "" } : {}),
        },
        readOnly: [...spark.home.readOnlyFolders, ...readOnly],
      };
    },

    followProgress({ eventLog }) {
      const reader = new EventLogReader(eventLog);
      return async () => (await reader.read()).progress;
    },
  };
}

/** Of a cluster elsewhere nothing may run here by mistake. */
async function localContribution(command: RunnableCommand, contributionsOf: ContributionsOf): Promise<Contribution> {
  const { accountId, clusterId, appId } = command;
  const contribution = await contributionsOf({ accountId, clusterId, appId });
  const { "spark.master": master = "local" } = contribution.properties;
  if (contribution.remote !== undefined) throw new Fault("invalid", "its cluster runs SQL only");
  if (!master.startsWith("local")) {
    throw new Fault("invalid", "programs on clusters of this type are not supported by this version");
  }
  return contribution;
}

function sparkProgram(command: RunnableCommand, text: string, file: string): SparkProgram {
  if (languageOf(command.command) === "command_line")
    return { kind: "command_line", words: splitWords(text, "program") };
  return {
    kind: "python",
    file,
    arguments: wordsOf(command, "arguments"),
    programArguments: wordsOf(command, "user_program_arguments"),
  };
}

function wordsOf({ command, resolvedMacros }: RunnableCommand, field: string): string[] {
  const text = command[field];
  if (typeof text !== "string") return [];
  return splitWords(fillMacros(text, macroValues(resolvedMacros), field, ARGUMENTS_BYTES), field);
}

/** What cannot be understood fails when it is started, and says so there; the text of a script is not looked at. */
function heapOf(command: RunnableCommand): number {
  try {
    const isLine = languageOf(command.command) === "command_line";
    const words = isLine ? [...wordsOf(command, "cmdline"), ...wordsOf(command, "program")] : [];
    if (isLine && words.length === 0) return DEFAULT_MEMORY_MIB;
    const program: SparkProgram = isLine
      ? { kind: "command_line", words }
      : { kind: "python", file: "", arguments: wordsOf(command, "arguments"), programArguments: [] };
    return driverMemoryMiB(program, DEFAULT_MEMORY_MIB);
  } catch {
    return DEFAULT_MEMORY_MIB;
  }
}
