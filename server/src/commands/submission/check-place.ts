import { invalid } from "../../lib/fault.ts";
import type { SubmittableKind } from "./plan.ts";

export function checkPlace(engineType: string, { runsOnConnect }: Pick<SubmittableKind, "runsOnConnect">): void {
  if (engineType === "connect" && !runsOnConnect) {
    throw invalid("label", "names a connect cluster, which runs SQL only");
  }
}
