import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** One listener for each connection: a client may send many requests on it without waiting for the responses. */
const unfinished = new WeakMap<Socket, Set<() => void>>();

/** Calls back when the request is answered or its client has disconnected, at once if that has already happened. */
export function whenFinished(
  { socket }: IncomingMessage,
  rawReply: ServerResponse | undefined,
  callback: () => void,
): void {
  if (socket.destroyed || rawReply?.closed === true) {
    callback();
    return;
  }
  // The response to a pipelined request does not close with the socket while an earlier response is pending.
  const callbacks = unfinished.get(socket) ?? watch(socket);
  const over = (): void => {
    callbacks.delete(over);
    rawReply?.off("close", over);
    callback();
  };
  callbacks.add(over);
  rawReply?.on("close", over);
}

function watch(socket: Socket): Set<() => void> {
  const callbacks = new Set<() => void>();
  unfinished.set(socket, callbacks);
  socket.once("close", () => {
    for (const callback of callbacks) callback();
  });
  return callbacks;
}
