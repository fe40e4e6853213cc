import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The state of connections that only requests know. */
export interface Connections {
  /** The current request on this connection has a token of this user. */
  identify(socket: Socket, user: string): void;
  /** A request is being handled until the returned function is called: when it ends, or waits for an event or its client. */
  beginHandling(socket: Socket): () => void;
}

/** All connections that never had a valid token count as those of one user. */
const ANONYMOUS = "anonymous";

interface Connection {
  readonly socket: Socket;
  owner: string;
  /** Undefined: the connection is idle. */
  request: IncomingMessage | undefined;
  /** How many of its requests are being handled; a client may send several without waiting for the responses. */
  handled: number;
  /** Grows with every change of an owner or request. */
  changedAt: number;
}

/** The connections of one owner, in the order of their last change. */
type Owned = Set<Connection>;

/**
 * Limits the number of connections. At the limit, a new connection replaces one of the user with the most: the one that
 * has been idle longest, or else the oldest whose request is not being handled. If there is none, the new one is refused.
 */
export function limitConnections(server: Server, maxConnections: number): Connections {
  const open = new Map<Socket, Connection>();
  const owners = new Map<string, Owned>();
  let changes = 0;

  const enter = (connection: Connection): void => {
    const owned = owners.get(connection.owner) ?? new Set();
    owners.set(connection.owner, owned.add(connection));
    connection.changedAt = changes++;
  };
  const leave = (connection: Connection): void => {
    const owned = owners.get(connection.owner);
    owned?.delete(connection);
    if (owned?.size === 0) owners.delete(connection.owner);
  };
  const setRequest = (connection: Connection, request: IncomingMessage | undefined): void => {
    const owned = owners.get(connection.owner);
    owned?.delete(connection);
    owned?.add(connection); // moves it to the end: the set is ordered by last change
    connection.request = request;
    connection.changedAt = changes++;
  };
  const close = (socket: Socket): void => {
    const connection = open.get(socket);
    if (connection !== undefined) leave(connection);
    open.delete(socket);
    socket.destroy();
  };

  server.on("connection", (socket: Socket) => {
    if (open.size >= maxConnections) {
      const replaced = replaceable(owners)?.socket ?? socket;
      close(replaced);
      if (replaced === socket) return;
    }
    const connection = { socket, owner: ANONYMOUS, request: undefined, handled: 0, changedAt: 0 };
    open.set(socket, connection);
    enter(connection);
    socket.once("close", () => close(socket));
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = open.get(socket);
    if (connection === undefined) return;
    setRequest(connection, request);
    response.once("close", () => {
      const isCurrent = connection.request === request; // otherwise a pipelined request is already being handled
      if (open.has(socket) && isCurrent) setRequest(connection, undefined);
    });
  });
  return {
    identify(socket, user) {
      const connection = open.get(socket);
      if (connection === undefined || connection.owner === user) return;
      leave(connection);
      connection.owner = user;
      enter(connection);
    },
    beginHandling(socket) {
      const connection = open.get(socket);
      if (connection === undefined) return () => undefined;
      connection.handled += 1;
      let hasEnded = false;
      return () => {
        if (!hasEnded) connection.handled -= 1;
        hasEnded = true;
      };
    },
  };
}

/** Looks at the connections of the owner with the most; of several such owners, at those of all. */
function replaceable(owners: ReadonlyMap<string, Owned>): Connection | undefined {
  let most = 0;
  for (const { size } of owners.values()) most = Math.max(most, size);
  const largest = [...owners.values()].filter(({ size }) => size === most);
  const oldestOf = (isWanted: (connection: Connection) => boolean): Connection | undefined =>
    oldest(largest.map((owned) => first(owned, isWanted)));
  return oldestOf(isIdle) ?? oldestOf(({ handled }) => handled === 0);
}

/** Without a token, a request that waits or never sends its body is kept no longer than a connection that sends nothing. */
function isIdle({ owner, request, handled }: Connection): boolean {
  return request === undefined || (owner === ANONYMOUS && handled === 0);
}

function first(connections: Owned, isWanted: (connection: Connection) => boolean): Connection | undefined {
  for (const connection of connections) if (isWanted(connection)) return connection;
  return undefined;
}

function oldest(connections: readonly (Connection | undefined)[]): Connection | undefined {
  let found: Connection | undefined;
  for (const one of connections) if (one !== undefined && one.changedAt < (found?.changedAt ?? Infinity)) found = one;
  return found;
}
