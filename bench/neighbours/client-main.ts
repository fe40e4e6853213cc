/**
 * A separate process of clients: receives tasks as messages and replies to each with its result; see
 * `client-process.ts`.
 */
import { setPriority } from "node:os";
import { setSessionNice } from "../../server/src/processes/detached-process/session-nice.ts";
import { workMixed, type MixedTask } from "./mixed-work.ts";
import { attack, type Counts, type RequestAttack } from "./request-attacks.ts";
import { requestSteadily, type SteadyResult, type SteadyTask } from "./steady-requests.ts";

export type ClientTask = SteadyTask | RequestAttack | MixedTask;
export type ClientResult = SteadyResult | Counts;

process.on("message", (task: ClientTask) => {
  void perform(task).then((result) => process.send?.(result));
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");

/**
 * The clients stand for other machines. Therefore the measuring client has a higher priority than the server, and
 * attacking clients a lower one. An unprivileged user can only lower priorities.
 */
function setOwnPriority(priority: number): void {
  setSessionNice("/proc/self", priority);
  try {
    setPriority(priority);
  } catch {
    // Not allowed.
  }
}

function perform(task: ClientTask): Promise<ClientResult> {
  setOwnPriority(task.kind === "steady" ? -15 : 5);
  switch (task.kind) {
    case "steady":
      return requestSteadily(task);
    case "mixed":
      return workMixed(task);
    default:
      return attack(task);
  }
}
