/** The nodes that share the database. The files of a command are on the node that ran it. */
import { hostname } from "node:os";
import type { Queryable } from "../../db/database.ts";
import type { RequestContext } from "../../http/endpoint.ts";
import type { ForwardedReply } from "../../http/forwarded-reply.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { isLoopbackHost } from "../../lib/network-policy.ts";
import { findAddress } from "../store/nodes.ts";
import type { CommandOutcome } from "../store/outcome.ts";

export interface OtherNodes {
  isHere(nodeId: string | null | undefined): boolean;
  /** Forwards the request to the node that ran the last attempt. Undefined: it is this node, or cannot be reached. */
  forward(command: CommandOutcome, request: RequestContext): Promise<ForwardedReply | undefined>;
}

/** For handlers: their services have it under this name. */
export interface WithOtherNodes {
  otherNodes: OtherNodes;
}

export interface OtherNodesOptions {
  readonly db: Queryable;
  readonly ownId: string;
  /** Requests are not forwarded to a node that counts as dead. */
  readonly isSilent: (nodeId: string) => boolean;
  readonly log: Log;
}

export function otherNodes({ db, ownId, isSilent, log }: OtherNodesOptions): OtherNodes {
  const isHere: OtherNodes["isHere"] = (nodeId) => nodeId === null || nodeId === undefined || nodeId === ownId;
  return {
    isHere,
    async forward({ id, nodes }, { forward }) {
      const nodeId = nodes.at(-1) ?? "";
      if (isHere(nodes.at(-1)) || forward === undefined || isSilent(nodeId)) return undefined;
      const address = await addressOf(db, nodeId);
      if (address === undefined) return undefined;
      try {
        return await forward(address);
      } catch (error) {
        log.warn({ err: error, node: nodeId, command: id }, "the node that ran a command does not answer");
        return undefined;
      }
    },
  };
}

/** The fault for data that only another node has. Operators know nodes by their ids. */
export function unreachableNode(nodeId: string | null | undefined): Fault {
  return new Fault("unavailable", `This is on the node ${nodeId ?? "that ran it"}, which does not answer; try again.`, {
    retryAfterSeconds: 10,
  });
}

/** A loopback address of another machine is not used: the caller's token would go to a process of this machine. */
async function addressOf(db: Queryable, nodeId: string): Promise<string | undefined> {
  const found = await findAddress(db, nodeId);
  if (found === undefined) return undefined;
  return isLoopbackHost(new URL(found.address).hostname) && found.host !== hostname() ? undefined : found.address;
}
