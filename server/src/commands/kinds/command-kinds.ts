/**
 * Everything that differs between kinds of commands. A kind is one file in this folder and one line in `all-kinds.ts`.
 * Its name is stored with each command, so a released name never changes.
 */
import { type JobSource, noJobs } from "../results/job-source.ts";
import type { RunnableKind } from "../execution/executor.ts";
import { type ResultSource, printedResults } from "../results/result-source.ts";
import type { SubmittableKind, SubmissionPlan } from "../submission/plan.ts";
import type { RefreshEngine } from "../../accounts/contract.ts";
import { invalid, Fault } from "../../lib/fault.ts";
import { type StoredCommand, type SubmittedCommand, COMMAND_TYPES, type CommandType } from "../store/command-row.ts";
import type { SubmissionInput } from "../submission/body.ts";
import { isRefresh, REFRESH_TEMPLATE } from "../submission/hive.ts";

export interface CommandKind extends SubmittableKind, RunnableKind {
  readonly results: ResultSource;
  readonly jobs: JobSource;
}

/** The kinds of commands of this node. */
export interface CommandKinds {
  /** `refreshEngine` is called at most once. */
  plan(body: SubmissionInput, refreshEngine: () => Promise<RefreshEngine>): Promise<PlannedCommand>;
  /** The kind of a stored command. */
  of(command: StoredCommand): CommandKind;
  /** The kind that this version gives to the command, whatever kind is stored. */
  decide(command: SubmittedCommand): CommandKind;
}

interface PlannedCommand {
  readonly kind: CommandKind;
  readonly plan: SubmissionPlan;
}

/** For handlers: their services have it under this name. */
export interface WithCommandKinds {
  commandKinds: CommandKinds;
}

/** If several kinds match a command, it is of the first. */
export function commandKinds(kinds: readonly CommandKind[]): CommandKinds {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]));
  const decide: CommandKinds["decide"] = (command) => {
    const kind = kinds.find((each) => each.matches(command));
    if (kind === undefined) throw new Error(`no kind matches a command of type ${command.commandType}`);
    return kind;
  };
  return {
    decide,
    of: (command) =>
      command.kind === null ? decide(command) : (byName.get(command.kind) ?? unknownKind(command.kind)),
    async plan(body, refreshEngine) {
      const commandType = commandTypeOf(body);
      let engine: Promise<RefreshEngine> | undefined;
      const account = { refreshEngine: () => (engine ??= refreshEngine()) };
      for (const kind of kinds) {
        const plan = await kind.plan({ ...body, command_type: commandType }, account);
        if (plan !== undefined) return { kind, plan };
      }
      throw invalid("command_type", `must not be ${commandType}, which this server does not support`);
    },
  };
}

/** §4.5: the template of a table refresh implies its type. */
function commandTypeOf(body: SubmissionInput): CommandType {
  const given = body.command_type ?? (isRefresh(body) ? "HiveCommand" : undefined);
  const type = COMMAND_TYPES.find((each) => each === given);
  if (type === undefined) {
    const rest = given === undefined ? "" : "; commands of other engines are not supported";
    throw invalid("command_type", `must be one of ${COMMAND_TYPES.join(", ")}${rest}`);
  }
  if (isRefresh(body) && type !== "HiveCommand") {
    throw invalid("command_type", `must be HiveCommand with the template ${REFRESH_TEMPLATE}`);
  }
  return type;
}

/** A kind that only newer versions know: its commands wait for a node that runs one. */
function unknownKind(name: string): CommandKind {
  return {
    name,
    plan: () => undefined,
    matches: () => false,
    runsUsersCode: true,
    needsCluster: true,
    runsOnConnect: false,
    memory: { reservedMiB: () => 0 },
    executor: {
      unready: () =>
        `it waits for a node with a newer version of Headgate: this version cannot run commands of kind ${name}`,
      needsNoDisk: true,
      prepare: refuse,
      adopt: refuse,
      tidy: () => Promise.resolve(),
    },
    results: printedResults,
    jobs: noJobs,
  };
}

const refuse = (): Promise<never> => Promise.reject(new Fault("invalid", "not supported by this version"));
