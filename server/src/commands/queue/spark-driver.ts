import { join } from "node:path";
import type { Contribution } from "../../engines/spark-home/contribution.ts";
import { findR as findRHere, type RSupport } from "../../engines/spark-home/find-r.ts";
import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import { driverCommandLine } from "../../engines/spark-submit/driver-command-line.ts";
import { EventLogReader } from "../../engines/spark-submit/event-log.ts";
import { Fault } from "../../lib/fault.ts";
import type { ContributionsOf } from "../warm/spark-place.ts";
import type { RunnableCommand } from "./executor.ts";
import type { ProgramDriver } from "./program-driver.ts";
import { heapOf, sparkProgram } from "./spark-program.ts";

/** Spark's own default for `spark.driver.memory`. */
const DEFAULT_MEMORY_MIB = 1024;
/** What a driver takes besides its heap: the JVM itself and the interpreter of the program. */
const OVERHEAD_SHARE = 0.1;
const LEAST_OVERHEAD_MIB = 384;

/** Programs and command lines, on the Spark of this node. */
export function sparkDriver(
  setUp: Pick<SparkSetUp, "current">,
  contributionsOf: ContributionsOf,
  findR: (sparkHome: string) => Promise<RSupport> = findRHere,
): ProgramDriver {
  return {
    unready() {
      const { state, detail } = setUp.current();
      if (state === "ready") return null;
      return state === "installing" ? `Spark is being set up: ${detail}` : `Spark cannot be set up: ${detail}`;
    },

    memoryMiB(command) {
      const heapMiB = heapOf(command, DEFAULT_MEMORY_MIB);
      return heapMiB + Math.max(LEAST_OVERHEAD_MIB, Math.ceil(heapMiB * OVERHEAD_SHARE));
    },

    async commandLine({ command, programText, requestId }, { work, input, eventLogFolder, applicationId }) {
      const spark = setUp.current();
      if (spark.state !== "ready") throw new Fault("unavailable", "Spark is not set up on this node");
      const { properties, classPath, env, readOnly } = await localContribution(command, contributionsOf);
      const propertiesFile = join(input, "spark.properties");
      const { program, files } = await sparkProgram(command, programText ?? "", input, () => findR(spark.home.folder));
      const line = driverCommandLine({
        home: spark.home,
        program,
        properties,
        classPath,
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
        files: { ...files, "spark.properties": line.propertiesText },
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
