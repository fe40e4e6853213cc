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
 * a half-sent request included, then of the others. When all are at work, the new one is refused.
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

  server.on("connection", (socket: Socket) => {
    if (isTrusted(socket.remoteAddress)) return;
    if (open >= most) {
      const [victim = socket] = [...first(idle.anonymous), ...first(idle.authenticated)];
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
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (!counted.has(socket)) return;
    forget(socket);
    response.once("close", () => rest(socket));
  });
}

function first(sockets: ReadonlySet<Socket>): Socket[] {
  for (const socket of sockets) return [socket];
  return [];
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
