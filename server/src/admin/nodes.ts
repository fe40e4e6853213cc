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
    .description("list the nodes of the installation, and whether each accepts commands")
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
  return nodeCommand(cli, "node-pause", "stop a node from accepting commands; running ones continue", "paused");
}

export function nodeResumeCommand(cli: Cli): Command {
  return nodeCommand(cli, "node-resume", "let a paused or drained node accept commands again", "active");
}

export function nodeDrainCommand(cli: Cli): Command {
  return nodeCommand(
    cli,
    "node-drain",
    "drain a node: it accepts no more commands and is drained when none is running",
    "draining",
  );
}

/** A running node acts on it at once and shows it within seconds; a stopped one when it starts again. */
function nodeCommand(cli: Cli, name: string, description: string, state: OrderedState): Command {
  return new Command(name)
    .description(description)
    .argument("<node>", "the node's id", parseNodeId)
    .action((nodeId: string) =>
      withSession(cli, async (session) => {
        const firstId = await requireFirstAccount(session);
        await session.db.asSystem(async (tx) => {
          if (!(await setNodeState(tx, nodeId, state))) {
            throw new Fault("not-found", `There is no node ${nodeId}; node-list lists the nodes.`);
          }
          sendAudit(tx, firstId, "node_edit", `node/${nodeId}/${state}`);
        });
        cli.out(`Node ${nodeId} is ${state}.\n`);
      }),
    );
}
