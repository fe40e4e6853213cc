import { languageOf } from "../submission/language.ts";
import type { Executor, RunnableCommand } from "./executor.ts";
import { unsupportedExecutor } from "./unsupported-executor.ts";

export type ExecutorKind = "program" | "unsupported";

/** Which executor runs a command, by its type and language. */
export function executorKind({ commandType, command }: RunnableCommand): ExecutorKind {
  if (commandType !== "SparkCommand") return "unsupported";
  switch (languageOf(command)) {
    case "python":
    case "command_line":
      return "program";
    case "scala":
    case "R":
    case "sql":
      return "unsupported";
  }
}

export function chooseExecutor(program: Executor): (command: RunnableCommand) => Executor {
  return (command) => (executorKind(command) === "program" ? program : unsupportedExecutor);
}
