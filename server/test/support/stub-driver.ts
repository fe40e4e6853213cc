import { join } from "node:path";
import type { ProgramDriver } from "../../src/commands/queue/program-driver.ts";
import { heapOf, statedHeap } from "../../src/commands/queue/spark-program.ts";

/**
 * Stands in for Spark's driver: a real process in the real sandbox under the real runner, that runs the command's text
 * as a shell program. `$JOURNAL` is a file of the account's storage, for lines about when it really ran.
 */
export const stubDriver: ProgramDriver = {
  unready: () => null,
  memoryMiB: (command) => heapOf(command, 100),
  statedMemoryMiB: statedHeap,
  commandLine: (run, { input }) =>
    Promise.resolve({
      argv: ["/bin/sh", join(input, "program.sh")],
      env: {
        PATH: "/usr/bin:/bin",
        COMMAND: String(run.command.id),
        ATTEMPT: String(run.attempt),
        JOURNAL: join(run.files.folder, "../../../../storage/journal"),
      },
      files: { "program.sh": run.programText ?? "" },
      readOnly: [],
    }),
  followProgress: () => () => Promise.resolve(0),
};
