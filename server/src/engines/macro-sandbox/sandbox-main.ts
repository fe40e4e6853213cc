import { evaluate } from "./evaluate.ts";
import type { Job, Outcome } from "./protocol.ts";

/** Entry point of the sandbox process: sends `ready`, then runs one job at a time, and ends with its parent. */
process.on("message", (message) => {
  const { macros, limits } = message as Job; // only our server sends messages
  const broken: Outcome = { kind: "failed", name: macros[0]?.name ?? "", reason: "the interpreter failed" };
  evaluate(macros, limits).then(answer, () => answer(broken));
});
process.on("disconnect", () => process.exit());
answer("ready");

function answer(message: Outcome | "ready"): void {
  process.send?.(message);
}
