import { setPriority } from "node:os";
import { setSessionNice } from "../../server/src/engines/detached-process/session-nice.ts";
import { workMixed, type MixedTask } from "./mixed-work.ts";
import { attack, type Counts, type RequestAttack } from "./request-attacks.ts";
import { requestSteadily, type SteadyResult, type SteadyTask } from "./steady-requests.ts";

/** Clients as a process of their own: takes tasks as messages and answers each with its result; see `client-process.ts`. */
export type ClientTask = SteadyTask | RequestAttack | MixedTask;
export type ClientResult = SteadyResult | Counts;

process.on("message", (task: ClientTask) => {
  void perform(task).then((result) => process.send?.(result));
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");

/**
 * Clients are meant to be on other machines. So the one that measures does not wait for the processor, and those that
 * attack take it after the server; as a plain user only the second can be had.
 */
function prefer(priority: number): void {
  setSessionNice("/proc/self", priority);
  try {
    setPriority(priority);
  } catch {
    // Not allowed.
  }
}

function perform(task: ClientTask): Promise<ClientResult> {
  prefer(task.kind === "steady" ? -15 : 5);
  switch (task.kind) {
    case "steady":
      return requestSteadily(task);
    case "mixed":
      return workMixed(task);
    default:
      return attack(task);
  }
}
