import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { notFound } from "../lib/fault.ts";
import type { WithClusterLabels } from "../clusters/contract.ts";
import { Command, commandObject, type WithCommandView } from "./command.ts";
import type { WithCommandEvents } from "./queue/command-events.ts";
import type { WithCommandKinds } from "./kinds/command-kinds.ts";
import { checkMayRunPrograms, type WithProgramIsolation } from "./execution/program-isolation.ts";
import { macroValues } from "./submission/macros.ts";
import { laneOf } from "./queue/claim-plan.ts";
import type { WithMemoryNeed } from "./queue/memory-rules.ts";
import { findCommand } from "./store/command-row.ts";
import { findProgramText, insertRerun } from "./store/submission.ts";
import { authoriseSubmission, missingTarget } from "./submit-command.ts";
import { checkEngine } from "./submission/plan.ts";
import { CommandParams } from "./view-command.ts";

/**
 * Submits the same command again, on behalf of the caller, with the script and the macro values of the first time. An
 * earlier version may have accepted a command line that is refused now, so command lines are checked again.
 */
export const rerunCommand = operation({
  id: "command_rerun",
  summary: "Run a command again",
  description: "A new command with the same text; a script is not read again, and macros are not evaluated again.",
  tag: "Commands",
  method: "POST",
  paths: { "v1.2": "/commands/:command_id/rerun" },
  access: { permission: OBJECT_PERMISSIONS.cluster.submit, authorises: ["cluster"] },
  params: CommandParams,
  reply: Command,

  async find({ params, reader }) {
    const row = await findCommand(reader, params.command_id);
    if (row === undefined) throw notFound("Command", params.command_id);
    return row;
  },

  async handle(
    { found, caller, requestId, reader, change, authorise, readableOf },
    services: WithCommandKinds &
      WithCommandView &
      WithCommandEvents &
      WithProgramIsolation &
      WithMemoryNeed &
      WithClusterLabels,
  ) {
    const kind = services.commandKinds.decide(found);
    if (kind.runsUsersCode) await checkMayRunPrograms(services.isolation, caller.accountId, found.commandType);
    const text = kind.isCommandLine?.(found) === true ? await findProgramText(reader, found.id) : null;
    kind.checkWords?.(found, macroValues(found.resolvedMacros), text);
    const statedMemoryMiB = kind.memory.stated?.miB(found, text) ?? 0;
    const reply = await change(async (tx, audit) => {
      const { id: commandId, label } = found;
      const row = await insertRerun(tx, {
        commandId,
        label,
        userId: caller.userId,
        requestId,
        kind: kind.name,
        lane: laneOf(kind, found.appId, statedMemoryMiB),
        statedMemoryMiB,
      });
      if (row === undefined) {
        throw await missingTarget(tx, found, readableOf("cluster"), services.clusterLabels);
      }
      if (kind.needsCluster) await authoriseSubmission(row, { caller, authorise }, tx);
      checkEngine(row.engineType, kind);
      services.memoryNeed.check(kind, { ...row, statedMemoryMiB }, row.engineType);
      audit.object = `command/${row.id}`;
      return commandObject(row, services.commandView);
    });
    services.commandEvents.wake();
    return reply;
  },
});
