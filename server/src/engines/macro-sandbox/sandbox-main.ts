import { evaluate } from "./evaluate.ts";
import type { Job, Outcome } from "./protocol.ts";

/** The sandbox process: one job at a time from its parent, with which it ends. Its first message says that it is ready. */
process.on("message", (message) => {
  const { macros, limits } = message as Job; // from our own parent only
  const broken: Outcome = { kind: "failed", name: macros[0]?.name ?? "", reason: "the interpreter failed" };
  evaluate(macros, limits).then(answer, () => answer(broken));
});
process.on("disconnect", () => process.exit());
answer("ready");

function answer(message: Outcome | "ready"): void {
  process.send?.(message);
}
