import { languageOf } from "../submission/language.ts";
import type { CommandKind, Executor } from "./executor.ts";
import { unsupportedExecutor } from "./unsupported-executor.ts";

export type ExecutorKind = "program" | "sql" | "unsupported";

/** Which executor runs a command, by its type and language. */
export function executorKind({ commandType, command }: CommandKind): ExecutorKind {
  if (commandType !== "SparkCommand") return "unsupported";
  switch (languageOf(command)) {
    case "python":
    case "scala":
    case "R":
    case "command_line":
      return "program";
    case "sql":
      return "sql";
  }
}

export type Executors = Readonly<Record<Exclude<ExecutorKind, "unsupported">, Executor>>;

export function chooseExecutor(executors: Executors): (command: CommandKind) => Executor {
  return (command) => {
    const kind = executorKind(command);
    return kind === "unsupported" ? unsupportedExecutor : executors[kind];
  };
}
