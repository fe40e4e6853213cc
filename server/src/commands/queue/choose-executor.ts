import { isNativeRefresh } from "../submission/hive.ts";
import { languageOf } from "../submission/language.ts";
import type { CommandKind, Executor } from "./executor.ts";
import { unsupportedExecutor } from "./unsupported-executor.ts";

export type ExecutorKind = "program" | "sql" | "refresh" | "unsupported";

/** Which executor runs a command, by its type, its language, and for a table refresh by the engine that it is to have. */
export function executorKind({ commandType, command, options }: CommandKind): ExecutorKind {
  switch (commandType) {
    case "SparkCommand":
      return sparkKind(command);
    case "HiveCommand":
      return isNativeRefresh(options) ? "refresh" : "sql";
    default:
      return "unsupported";
  }
}

/** Where accounts could read what is not theirs, were they not kept apart. */
export function runsUsersCode(command: CommandKind): boolean {
  const kind = executorKind(command);
  return kind === "program" || kind === "sql";
}

/** Whether what comes of it has rows and columns. */
export function hasTable(command: CommandKind): boolean {
  const kind = executorKind(command);
  return kind === "sql" || kind === "refresh";
}

function sparkKind(command: CommandKind["command"]): ExecutorKind {
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
