import { invalid } from "../../lib/fault.ts";
import type { CommandRow } from "../store/command-row.ts";
import { languageOf } from "./language.ts";
import { REFRESH_TEMPLATE } from "./hive.ts";

type Kind = Pick<CommandRow, "commandType" | "command" | "template">;

/** A connect engine is a server of somebody else's: it takes statements, and nothing runs beside it. */
export function checkPlace(engineType: string, command: Kind): void {
  if (engineType === "connect" && !isSql(command)) {
    throw invalid("label", "names a connect cluster, which runs SQL only");
  }
}

function isSql({ commandType, command, template }: Kind): boolean {
  switch (commandType) {
    case "SparkCommand":
      return languageOf(command) === "sql";
    case "HiveCommand":
      return template !== REFRESH_TEMPLATE;
    case "HadoopCommand":
      return false;
  }
}
