import { invalid } from "../../lib/fault.ts";
import type { SubmittedCommand } from "../store/command-row.ts";
import type { SubmissionInput } from "../submission/body.ts";
import { commandTypeOf } from "../submission/command-type.ts";
import type { RefreshEngine, SubmissionPlan } from "../submission/plan.ts";
import type { CommandKind } from "./command-kind.ts";

/** The kinds of commands of this node. */
export interface CommandKinds {
  /** `refreshEngine` is called at most once. */
  plan(body: SubmissionInput, refreshEngine: () => Promise<RefreshEngine>): Promise<PlannedCommand>;
  /** Decides by what was submitted. */
  decide(command: SubmittedCommand): CommandKind;
}

export interface PlannedCommand {
  readonly kind: CommandKind;
  readonly plan: SubmissionPlan;
}

/** For handlers: their services have it under this name. */
export interface WithCommandKinds {
  commandKinds: CommandKinds;
}

/** If several kinds match a command, it is of the first. */
export function commandKinds(kinds: readonly CommandKind[]): CommandKinds {
  return {
    async plan(body, refreshEngine) {
      const commandType = commandTypeOf(body);
      let engine: Promise<RefreshEngine> | undefined;
      const account = { refreshEngine: () => (engine ??= refreshEngine()) };
      for (const kind of kinds) {
        const plan = await kind.plan({ ...body, command_type: commandType }, account);
        if (plan !== undefined && kind.matches(plan)) return { kind, plan };
      }
      throw invalid("command_type", `${commandType} cannot run with these fields`);
    },
    decide(command) {
      const kind = kinds.find((each) => each.matches(command));
      if (kind === undefined) throw new Error(`no kind matches a command of the type ${command.commandType}`);
      return kind;
    },
  };
}
