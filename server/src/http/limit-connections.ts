import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

const authenticated = new WeakSet<Socket>();

/** Call when a request on this connection had a valid token. */
export function markAuthenticated(socket: Socket): void {
  authenticated.add(socket);
}

/**
 * Limits the number of connections, so that idle ones cannot use up the file descriptors. At the limit, a new
 * connection replaces the one that has been idle longest. Connections that never sent a valid token are closed first,
 * even in the middle of a request or body. If all are busy, the new one is refused. Connections of proxies count, too.
 */
export function limitConnections(server: Server, most: number): void {
  let open = 0;
  // A set iterates in insertion order: the longest idle socket first.
  const idle = { anonymous: new Set<Socket>(), authenticated: new Set<Socket>() };
  const forget = (socket: Socket): void => {
    idle.anonymous.delete(socket);
    idle.authenticated.delete(socket);
  };
  const markIdle = (socket: Socket): void => {
    if (!socket.destroyed) (authenticated.has(socket) ? idle.authenticated : idle.anonymous).add(socket);
  };
  const counted = new WeakSet<Socket>();
  const inProgress = new WeakMap<Socket, IncomingMessage>();
  // A request without a token that never sends its body would otherwise occupy a connection forever.
  const isEvictable = (socket: Socket): boolean => {
    const request = inProgress.get(socket);
    return request === undefined || !(request.complete || authenticated.has(socket));
  };

  server.on("connection", (socket: Socket) => {
    if (open >= most) {
      const victim = first(idle.anonymous, isEvictable) ?? first(idle.authenticated, () => true) ?? socket;
      forget(victim);
      victim.destroy();
      if (victim === socket) return;
    }
    open += 1;
    counted.add(socket);
    socket.once("close", () => {
      open -= 1;
      forget(socket);
    });
    markIdle(socket);
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (!counted.has(socket)) return;
    inProgress.set(socket, request);
    idle.authenticated.delete(socket);
    response.once("close", () => {
      if (inProgress.get(socket) !== request) return; // a pipelined request follows
      inProgress.delete(socket);
      forget(socket);
      markIdle(socket);
    });
  });
}

function first(sockets: ReadonlySet<Socket>, isWanted: (socket: Socket) => boolean): Socket | undefined {
  for (const socket of sockets) if (isWanted(socket)) return socket;
  return undefined;
}
