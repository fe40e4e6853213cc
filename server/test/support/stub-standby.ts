import { join } from "node:path";
import type { ProgramDriver } from "../../src/commands/programs/program-driver.ts";
import { stubDriver } from "./stub-driver.ts";

const GREETING = "READY\n";
/** A partial order is ignored. If the process that reads the order is killed, the driver fails in the same way. */
const waiter = (program: string): string =>
  `printf '${GREETING}'; order=$(cat) || exit; case $order in *end) ;; *) exit 0 ;; esac; eval "$order"; exec /bin/sh ${program}`;

/**
 * The stub driver with a standby driver: a real process that writes its greeting, reads its order and becomes the
 * program. `$MANNER` shows a program which of the two runs it. A program with the word `unfit` needs a driver of its
 * own.
 */
export function stubStandby(digestOf: () => string = () => "same"): ProgramDriver {
  return {
    ...stubDriver,
    async commandLine(run, folders) {
      const program = await stubDriver.commandLine(run, folders);
      const told = ["COMMAND", "ATTEMPT"].map((name) => `export ${name}=${program.env[name] ?? ""}`);
      return {
        ...program,
        env: { ...program.env, MANNER: "cold" },
        handOver: run.programText?.includes("unfit")
          ? undefined
          : { digest: digestOf(), input: [...told, `export JOURNAL=${program.env["JOURNAL"]}`, "# end"].join("\n") },
      };
    },
    standby: (_scope, { input }) =>
      Promise.resolve({
        digest: digestOf(),
        greeting: GREETING,
        memoryMiB: 100,
        argv: ["/bin/sh", "-c", waiter(join(input, "program.sh")), "a-driver-that-waits"],
        env: { PATH: "/usr/bin:/bin", MANNER: "standby" },
        files: { "standby.conf": "" },
        readOnly: [],
      }),
  };
}
