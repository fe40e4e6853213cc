import { join } from "node:path";
import type { ProgramDriver } from "../../src/commands/queue/program-driver.ts";
import { stubDriver } from "./stub-driver.ts";

const GREETING = "READY\n";
/** Half an order is nothing to do. If the process that reads it is killed, the driver fails as that process did. */
const waiter = (program: string): string =>
  `printf '${GREETING}'; order=$(cat) || exit; case $order in *end) ;; *) exit 0 ;; esac; eval "$order"; exec /bin/sh ${program}`;

/**
 * The stub driver with one that waits: a real process that greets, reads its order and becomes the program. `$MANNER`
 * tells a program which of the two ran it. A program that holds the word `unfit` only fits one of its own.
 */
export function stubStandby(digestOf: () => string = () => "same"): ProgramDriver {
  return {
    ...stubDriver,
    async commandLine(run, place) {
      const program = await stubDriver.commandLine(run, place);
      const told = ["COMMAND", "ATTEMPT"].map((name) => `export ${name}=${program.env[name] ?? ""}`);
      return {
        ...program,
        env: { ...program.env, MANNER: "cold" },
        handOver: run.programText?.includes("unfit")
          ? undefined
          : { digest: digestOf(), input: [...told, `export JOURNAL=${program.env["JOURNAL"]}`, "# end"].join("\n") },
      };
    },
    standby: (_place, { input }) =>
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
