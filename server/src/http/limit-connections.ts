import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { BlockList, isIPv6, type Socket } from "node:net";

export interface ConnectionLimits {
  readonly most: number;
  /** Addresses and CIDR blocks; their connections are not counted. */
  readonly trustedProxies: readonly string[];
}

const authenticated = new WeakSet<Socket>();

/** The connection has carried a request with a valid token. */
export function markAuthenticated(socket: Socket): void {
  authenticated.add(socket);
}

/**
 * Keeps the number of connections below a limit, so that idle ones cannot take every file descriptor. At the limit a
 * new connection takes the place of the one that has been idle longest: first of those that never showed a valid token,
 * a half-sent request or body included, then of the others. When all are at work, the new one is refused.
 */
export function limitConnections(server: Server, { most, trustedProxies }: ConnectionLimits): void {
  const isTrusted = addressMatcher(trustedProxies);
  let open = 0;
  // Sets keep the order in which sockets became idle.
  const idle = { anonymous: new Set<Socket>(), authenticated: new Set<Socket>() };
  const forget = (socket: Socket): void => {
    idle.anonymous.delete(socket);
    idle.authenticated.delete(socket);
  };
  const rest = (socket: Socket): void => {
    if (!socket.destroyed) (authenticated.has(socket) ? idle.authenticated : idle.anonymous).add(socket);
  };
  const counted = new WeakSet<Socket>();
  const atWork = new WeakMap<Socket, IncomingMessage>();
  // A request without a token that never sends its body would otherwise hold its place for good.
  const isEvictable = (socket: Socket): boolean => {
    const request = atWork.get(socket);
    return request === undefined || !(request.complete || authenticated.has(socket));
  };

  server.on("connection", (socket: Socket) => {
    if (isTrusted(socket.remoteAddress)) return;
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
    rest(socket);
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (!counted.has(socket)) return;
    atWork.set(socket, request);
    idle.authenticated.delete(socket);
    response.once("close", () => {
      if (atWork.get(socket) !== request) return; // a pipelined one follows
      atWork.delete(socket);
      forget(socket);
      rest(socket);
    });
  });
}

function first(sockets: ReadonlySet<Socket>, isWanted: (socket: Socket) => boolean): Socket | undefined {
  for (const socket of sockets) if (isWanted(socket)) return socket;
  return undefined;
}

function addressMatcher(networks: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => address !== undefined && list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
