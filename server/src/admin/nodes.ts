import { Command } from "commander";
import { listNodes, setNodeState, type OrderedState } from "../commands/store/nodes.ts";
import { isoSeconds } from "../lib/clock.ts";
import { Fault } from "../lib/fault.ts";
import { jsonOption, parseNodeId } from "./arguments.ts";
import { printList, type Cli, type OutputOptions } from "./cli.ts";
import { requireFirstAccount, withSession } from "./session.ts";
import { sendAudit } from "./store.ts";

export function nodeListCommand(cli: Cli): Command {
  return new Command("node-list")
    .description("list the nodes of the installation, and whether each takes commands")
    .addOption(jsonOption())
    .action((options: OutputOptions) =>
      withSession(cli, async ({ db }) => {
        const rows = (await listNodes(db.system)).map((node) => ({
          id: node.id,
          host: node.host,
          state: node.state,
          running: node.running,
          version: node.version,
          heartbeat: isoSeconds(node.heartbeatAt),
        }));
        printList(cli, options, rows, ["id", "host", "state", "running", "version", "heartbeat"]);
      }),
    );
}

export function nodePauseCommand(cli: Cli): Command {
  return nodeCommand(cli, "node-pause", "let a node take no commands for now; what runs goes on", "paused");
}

export function nodeResumeCommand(cli: Cli): Command {
  return nodeCommand(cli, "node-resume", "let a paused or drained node take commands again", "active");
}

export function nodeDrainCommand(cli: Cli): Command {
  return nodeCommand(cli, "node-drain", "empty a node: it takes no more and is drained when nothing runs", "draining");
}

/** A node that runs acts on it at once and shows it within seconds; one that is down when it starts again. */
function nodeCommand(cli: Cli, name: string, description: string, state: OrderedState): Command {
  return new Command(name)
    .description(description)
    .argument("<node>", "the node's id", parseNodeId)
    .action((nodeId: string) =>
      withSession(cli, async (session) => {
        const firstId = await requireFirstAccount(session);
        await session.db.asSystem(async (tx) => {
          if (!(await setNodeState(tx, nodeId, state))) {
            throw new Fault("not-found", `There is no node ${nodeId}: see node-list.`);
          }
          sendAudit(tx, firstId, "node_edit", `node/${nodeId}/${state}`);
        });
        cli.out(`Node ${nodeId} is ${state}.\n`);
      }),
    );
}
