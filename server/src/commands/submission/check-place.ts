import { invalid } from "../../lib/fault.ts";
import type { CommandRow } from "../store/command-row.ts";
import { languageOf } from "./language.ts";

type Kind = Pick<CommandRow, "commandType" | "command">;

/**
 * A connect engine is a server of somebody else's: it takes statements, and nothing runs beside it. A table refresh of
 * ours needs no engine, and Spark's own is a statement.
 */
export function checkPlace(engineType: string, command: Kind): void {
  if (engineType === "connect" && !isSql(command)) {
    throw invalid("label", "names a connect cluster, which runs SQL only");
  }
}

function isSql({ commandType, command }: Kind): boolean {
  switch (commandType) {
    case "SparkCommand":
      return languageOf(command) === "sql";
    case "HiveCommand":
      return true;
    case "HadoopCommand":
      return false;
  }
}
