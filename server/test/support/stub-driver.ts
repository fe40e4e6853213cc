import { join } from "node:path";
import type { ProgramDriver } from "../../src/commands/programs/program-driver.ts";
import { heapOf, statedHeap } from "../../src/commands/programs/spark-driver.ts";
import { Fault } from "../../src/lib/fault.ts";

/** The text of a program that the driver refuses to start, and the cause in its log. */
export const REFUSED_PROGRAM = "refused";
export const REFUSAL = "the stub driver refuses this program";

/**
 * Replaces Spark's driver by a real process in the real sandbox under the real runner, which runs the command's text as
 * a shell program. `$JOURNAL` is a file in the account's storage where programs record when they really ran.
 */
export const stubDriver: ProgramDriver = {
  unready: () => null,
  memoryMiB: (command) => heapOf(command, 100),
  statedMemoryMiB: statedHeap,
  async commandLine(run, { input }) {
    if (run.programText === REFUSED_PROGRAM) throw new Fault("invalid", REFUSAL);
    return {
      argv: ["/bin/sh", join(input, "program.sh")],
      env: {
        PATH: "/usr/bin:/bin",
        COMMAND: String(run.command.id),
        ATTEMPT: String(run.attempt),
        JOURNAL: join(run.files.folder, "../../../../storage/journal"),
      },
      files: { "program.sh": run.programText ?? "" },
      readOnly: [],
    };
  },
  followProgress: () => () => Promise.resolve(0),
};
