import { join } from "node:path";
import type { ProgramDriver } from "../../src/commands/programs/program-driver.ts";
import { heapOf, statedHeap } from "../../src/commands/programs/spark-driver.ts";

/**
 * Replaces Spark's driver by a real process in the real sandbox under the real runner, which runs the command's text as
 * a shell program. `$JOURNAL` is a file in the account's storage where programs record when they really ran.
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
